/** The front of the library: one object that starts sagas, makes workers, and lets people see and steer. */
import { setMaxListeners } from "node:events";
import { countAttention, type AttentionCounts } from "../attention/count.ts";
import { listAttention, type AttentionOptions, type AttentionPage } from "../attention/list.ts";
import { checkLease } from "../core/backoff.ts";
import { positiveMs } from "../core/duration.ts";
import { AmendsError, closedError } from "../core/errors.ts";
import { refuseUnknown } from "../core/options.ts";
import type { EventFlow } from "../events/flow.ts";
import { setUpEvents } from "../events/set-up.ts";
import { ContractJournal } from "../contract/journal.ts";
import type { SagaStorage } from "../contract/contract.ts";
import { DatabaseJournal } from "../sagas/journal/database-journal.ts";
import type { SagaDefinition } from "../sagas/define/definition.ts";
import { Engine, type Counters } from "../sagas/engine/engine.ts";
import { SagaRun } from "../sagas/view/handle.ts";
import type { Journal } from "../sagas/journal/journal.ts";
import { Operators, type SagaNote, type SkipNote } from "../sagas/view/operators.ts";
import { outcomeOf } from "../sagas/view/outcome.ts";
import { openKinds } from "../sagas/read/figures.ts";
import { readArchived, type ArchivedSaga } from "../sagas/retention/archive.ts";
import { Registry } from "../sagas/define/registry.ts";
import type { JournalHost } from "../sagas/engine/journal-host.ts";
import type { SignalType } from "../sagas/define/signal.ts";
import { sendSignal, tellSagas, type SignalOptions, type SignalTools } from "../sagas/journal/signals.ts";
import { viewOf, type SagaView } from "../sagas/view/view.ts";
import { systemClock, type Clock } from "../storage/clock.ts";
import type { Database } from "../storage/database.ts";
import { checkSchema, migrate, type MigrateOptions } from "../storage/migrations/migrate.ts";
import { retrying, type Reader } from "../storage/read/reader.ts";
import type { Duty } from "../runtime/duty.ts";
import { Webhooks } from "../webhooks/webhooks.ts";
import { HOST, retryLimitsOf, type PartContext, type Hosting } from "../runtime/part.ts";
import { newId } from "../runtime/identifiers.ts";
import { untraced, type Tracer } from "../runtime/trace.ts";
import {
  OPTIONS,
  type CommonOptions,
  type DatabaseOptions,
  type StalledSignal,
  type StartOptions,
  type StorageOptions,
} from "./amends-options.ts";
import { newOwner } from "./identifiers.ts";
import { guarded, silent, stackOf, type Logger } from "./logger.ts";
import { stepTracing, tracedStart } from "./saga-tracing.ts";
import { Worker, type StopOptions, type WorkerOptions } from "./worker.ts";

/** What the parts beside it use stands under a symbol: a class cannot declare that by itself, the constructor defines it. */
// oxlint-disable-next-line typescript/no-unsafe-declaration-merging
export interface Amends<Tx = unknown> extends Hosting<Tx> {}

export class Amends<Tx = unknown> {
  readonly #database: Database<Tx> | undefined;
  readonly #clock: Clock;
  readonly #leaseMs: number;
  readonly #graceMs: number;
  readonly #logger: Logger;
  readonly #tracer: Tracer | undefined;
  readonly #registry: Registry;
  readonly #journal: Journal;
  readonly #engine: Engine;
  readonly #operators: Operators;
  readonly #owner: string = newOwner();
  readonly #closing: AbortController = new AbortController();
  readonly #onStalled: CommonOptions["onStalled"];
  readonly #workers: Set<Worker> = new Set();
  readonly #duties: Duty[] = [];
  readonly #webhooks: Webhooks<Tx> | undefined;
  readonly #events: EventFlow<Tx> | undefined;

  constructor(options: DatabaseOptions<Tx> | StorageOptions) {
    refuseUnknown(options, OPTIONS, "new Amends");
    const { database, storage } = options as { database?: Partial<Database>; storage?: Partial<SagaStorage> };
    if (typeof database?.query !== "function" && typeof storage?.createSaga !== "function") {
      throw new AmendsError(
        "BAD_OPTION",
        'Give a database, such as `sqlite("shop.db")` or `postgres(url)`, or a storage.',
      );
    }
    // Whatever waits for the database listens to it: how many that are is no mistake.
    setMaxListeners(0, this.#closing.signal);
    this.#database = options.database;
    this.#clock = (options.database ?? options).clock ?? systemClock;
    this.#tracer = options.tracing;
    this.#logger = options.logger ? guarded(options.logger) : silent;
    this.#leaseMs = checkLease(positiveMs(options.lease ?? "60s", "lease"), "lease");
    this.#graceMs = positiveMs(options.grace ?? "10s", "grace");
    this.#onStalled = options.onStalled;
    this.#registry = new Registry(options.sagas ?? [], options.database?.dialect.name);
    this.#journal = options.database
      ? new DatabaseJournal({
          db: options.database,
          signal: this.#closing.signal,
          onTrouble: (error, attempt) => this.#warn(error, attempt),
        })
      : new ContractJournal(options.storage, options.clock?.virtualNowMs);
    this.#engine = new Engine({
      clock: this.#clock,
      middleware: [...stepTracing(this.#tracer), ...(options.middleware ?? [])],
      errorCodes: new Set(options.errorCodes),
      graceMs: this.#graceMs,
      newId,
      journal: this.#journal,
      database: options.database,
      registry: this.#registry,
      leaseMs: this.#leaseMs,
      owner: this.#owner,
      onStalled: (run) => this.#stalled(run.id, run.definition.name, run.state),
      onRewound: (run, foundVersion) => this.#rewound(run, foundVersion),
      onBug: (error) => this.#bug(error),
    });
    this.#duties.push(this.#engine.pool);
    this.#operators = new Operators(this.#journal, this.#engine, () => undefined);
    const host = this.#host();
    Object.defineProperty(this, HOST, { value: host, enumerable: false });
    if (options.database) this.#webhooks = new Webhooks<Tx>(host, this.#owner, options.webhooks);
    if (options.database) {
      this.#events = setUpEvents<Tx>({
        host,
        handlers: options.handlers ?? [],
        eventSagas: options.eventSagas ?? [],
        sagas: options.sagas ?? [],
        leaseMs: this.#leaseMs,
        errorCodes: new Set(options.errorCodes),
        runSaga: async (saga, input, id, waitMs) =>
          new SagaRun(this.#handleTools(), await this.#engine.start(saga, input, id, undefined)).resultWithin(
            waitMs,
          ),
        tellSagas: (event, values) => tellSagas(this.#signalTools(), event, values),
        onAttention: (fields, message) => this.#logger.error(fields, message),
      });
    }
  }

  /** Brings the database's tables up to date. Safe to call at every start, from several processes at once. */
  async migrate(options: MigrateOptions = {}): Promise<readonly string[]> {
    return this.#database ? migrate(this.#database, options) : [];
  }

  /** Webhooks: publish, subscribe, and see what became of each delivery. */
  get webhooks(): Webhooks<Tx> {
    return this.#webhooks ?? noDatabase();
  }

  /** Starts a saga, or finds it: the same id with the same input is the same saga. */
  async start<Input, Output, Results, Failure>(
    saga: SagaDefinition<Input, Output, Results, Failure>,
    input: NoInfer<Input>,
    options: StartOptions<Tx> = {},
  ): Promise<SagaRun<Results, Failure>> {
    this.#refuseClosed();
    const { tx } = options;
    if (tx !== undefined && !this.#database) {
      throw new AmendsError(
        "NOT_SUPPORTED",
        "A storage of your own cannot join a transaction: leave `tx` out.",
      );
    }
    const session = tx === undefined ? undefined : this.#database?.join(tx);
    const start = (id: string | undefined) => this.#engine.start(saga, input, id, session);
    const started = await tracedStart(this.#tracer, saga.name, options.id, start);
    return new SagaRun<Results, Failure>(this.#handleTools(), started);
  }

  /** Tells a saga something, durably, for the step that waits for it now or later. False where it had been told before. */
  async signal<Input>(
    id: string,
    signal: SignalType<string, Input>,
    payload: NoInfer<Input>,
    options: SignalOptions<Tx> = {},
  ): Promise<boolean> {
    this.#refuseClosed();
    return sendSignal(this.#signalTools(), id, signal, payload, options);
  }

  /** A handle on a saga that exists. */
  async get(id: string): Promise<SagaRun> {
    const record = await this.#journal.load(id);
    if (!record) throw new AmendsError("SAGA_NOT_FOUND", "There is no saga with this id.", { id });
    const run = this.#engine.active.get(id);
    return new SagaRun(this.#handleTools(), { id, created: false, run, sinceVersion: record.version });
  }

  /** What a saga is and what happened to it so far; undefined where there is none. */
  async inspect(id: string): Promise<SagaView | undefined> {
    const record = await this.#journal.load(id);
    return record && viewOf(record);
  }

  /** A saga that retention has archived; undefined where there is none with this id. */
  async archived(id: string): Promise<ArchivedSaga | undefined> {
    return this.#database && readArchived(retrying(this.#database), id);
  }

  /** A worker of this process. Sagas that are started here run here while it has room. */
  worker(options: WorkerOptions = {}): Worker {
    const database = this.#database as Database | undefined;
    const worker: Worker = new Worker(
      {
        duties: () => this.#duties,
        clock: this.#clock,
        logger: this.#logger,
        owner: this.#owner,
        check: () => this.#check(worker),
        listen: database?.listen && ((onNotice) => database.listen?.(onNotice) ?? (() => undefined)),
      },
      options,
    );
    this.#workers.add(worker);
    return worker;
  }

  /** What needs a person now. */
  readonly attention: {
    /** The items, oldest first, page by page. */
    list(options?: AttentionOptions): Promise<AttentionPage>;
    /** How many items there are of each kind. */
    count(): Promise<AttentionCounts>;
  } = {
    list: async (options) => listAttention(this.#attentionReader(), options),
    count: async () => countAttention(this.#attentionReader()),
  };

  /** Publishes events, and shows and steers the sagas over them. */
  get events(): EventFlow<Tx> {
    return this.#events ?? noDatabase();
  }

  /** Undoes a saga that has not reached its pivot. */
  async cancel(id: string, note: SagaNote): Promise<SagaView> {
    return viewOf(await this.#operators.cancel(id, note));
  }

  /** Lets a stalled saga go on, with new tries. */
  async retry(id: string, note: SagaNote): Promise<SagaView> {
    return viewOf(await this.#operators.retry(id, note));
  }

  /** Lets a stalled saga go on without one step's work, which a person has done. */
  async skip(id: string, step: string, note: SkipNote): Promise<SagaView> {
    return viewOf(await this.#operators.skip(id, step, note));
  }

  /** Ends a stalled saga by hand. */
  async resolve(id: string, as: "COMPLETED" | "FAILED", note: SagaNote): Promise<SagaView> {
    return viewOf(await this.#operators.resolve(id, as, note));
  }

  /** What this process did so far. */
  get counters(): Readonly<Counters> {
    return this.#engine.counters;
  }

  /** Stops the worker, if one runs, and closes the connections that are ours. */
  async close(options: StopOptions = {}): Promise<void> {
    await Promise.all([...this.#workers].map((worker) => worker.stop(options)));
    this.#closing.abort();
    await this.#webhooks?.close();
    await this.#database?.close();
  }

  #host(): PartContext<Tx> {
    const database = this.#database;
    return {
      get database(): Database<Tx> {
        return database ?? noDatabase();
      },
      clock: this.#clock,
      graceMs: this.#graceMs,
      tracer: this.#tracer ?? untraced,
      closing: this.#closing.signal,
      newId,
      answeredMsAgo: () => [...this.#workers].find((worker) => worker.running)?.answeredMsAgo,
      addDuty: (duty) => this.#duties.push(duty),
      onTrouble: (error, attempt) => this.#warn(error, attempt),
      onBug: (error) => this.#bug(error),
      warn: (fields, message) => this.#logger.warn(fields, message),
    };
  }

  #attentionReader(): Reader {
    if (this.#database) return retrying(this.#database);
    throw new AmendsError("NOT_SUPPORTED", "A storage of your own has no list of what needs attention.");
  }

  #signalTools(): SignalTools<Tx> {
    const host = this[HOST];
    return { db: host.database, engine: this.#engine, retryLimits: retryLimitsOf(host), newId };
  }

  #handleTools(): ConstructorParameters<typeof SagaRun>[0] {
    return { engine: this.#engine, journal: this.#journal, operators: this.#operators, clock: this.#clock };
  }

  /** Before a worker works: the schema fits, and nobody waits for a version that is not here. */
  async #check(worker: Worker): Promise<void> {
    this.#refuseClosed();
    if ([...this.#workers].some((other) => other !== worker && other.running)) {
      throw new AmendsError(
        "NOT_ALLOWED_NOW",
        "A worker of this Amends runs already: one is enough for all that it knows.",
      );
    }
    const db = this.#database as Database | undefined;
    if (!db) return;
    await checkSchema(db);
    for (const { name, version, sagas } of await openKinds(retrying(db))) {
      if (this.#registry.get(name, version)) continue;
      this.#logger.warn(
        { saga: name, version, sagas },
        "amends: open sagas of a kind that is not registered here are left alone",
      );
    }
  }

  #stalled(id: string, saga: string, state: Parameters<typeof outcomeOf>[1]): void {
    const outcome = outcomeOf(id, state);
    if (outcome?.status !== "STALLED") return;
    const signal: StalledSignal = { id, saga, step: outcome.step, reason: outcome.reason };
    this.#logger.error({ ...signal }, "amends: a saga has stalled and needs a person");
    const failed = (): void => this.#logger.warn({ id }, "amends: onStalled failed");
    try {
      Promise.resolve(this.#onStalled?.(signal)).catch(failed);
    } catch {
      failed();
    }
  }

  #rewound({ id, definition, version }: JournalHost, foundVersion: number | undefined): void {
    const fields = { id, saga: definition.name, version, found: foundVersion };
    this.#logger.error(
      fields,
      foundVersion === undefined
        ? "amends: the database no longer has a saga that ran here: it went back in time; see docs/guides/failover.md"
        : "amends: the database has forgotten steps of a saga that ran here: it went back in time; see docs/guides/failover.md",
    );
  }

  #bug(error: unknown): void {
    this.#logger.error({ error: stackOf(error) }, "amends: unexpected; the lease heals it");
  }

  #warn(error: unknown, attempt: number): void {
    const code = (error as { code?: unknown } | undefined)?.code;
    this.#logger.warn(
      { attempt, code: typeof code === "string" ? code : undefined },
      "amends: trouble with the database; trying again",
    );
  }

  #refuseClosed(): void {
    if (this.#closing.signal.aborted) throw closedError();
  }
}

function noDatabase(): never {
  throw new AmendsError("NOT_SUPPORTED", "A storage of your own carries sagas only: this needs a database.");
}
