/** The front of the library: one object that starts sagas, makes workers, holds the parts, and lets people see and steer. */
import { setMaxListeners } from "node:events";
import { countAttention, type AttentionCounts } from "../attention/count.ts";
import { listAttention, type AttentionOptions, type AttentionPage } from "../attention/list.ts";
import { AmendsError, closedError } from "../core/errors.ts";
import { givenTransaction, refuseUnknown } from "../core/options.ts";
import type { Erasure } from "../erasure/erasure.ts";
import { EventFlow } from "../events/flow.ts";
import type { Calls } from "../outbox/calls/calls.ts";
import type { AnySaga, SagaDefinition } from "../sagas/define/definition.ts";
import type { AnyReference, Startable } from "../sagas/define/reference.ts";
import type { Counters, Engine } from "../sagas/engine/engine.ts";
import { SagaRun } from "../sagas/view/handle.ts";
import type { Journal } from "../sagas/journal/journal.ts";
import type { Operators, SagaNote, SkipNote } from "../sagas/view/operators.ts";
import { readArchived, type ArchivedSaga } from "../sagas/retention/archive.ts";
import type { Registry } from "../sagas/define/registry.ts";
import type { SignalType } from "../sagas/define/signal.ts";
import { sendSignal, tellSagas, type SignalOptions, type SignalTools } from "../sagas/journal/signals.ts";
import { viewOf, type SagaView } from "../sagas/view/view.ts";
import { systemClock, type Clock } from "../storage/clock.ts";
import type { Database } from "../storage/database.ts";
import { joinNow } from "../storage/joins/at-once.ts";
import { migrate, type MigrateOptions } from "../storage/migrations/migrate.ts";
import { retrying, type Reader } from "../storage/read/reader.ts";
import type { Webhooks } from "../webhooks/webhooks.ts";
import type { Duty } from "../runtime/duty.ts";
import { retryLimitsOf, type PartContext } from "../runtime/part.ts";
import { newId } from "../runtime/identifiers.ts";
import { Presence } from "../runtime/presence/presence.ts";
import { untraced } from "../runtime/trace.ts";
import {
  checkOptions,
  type DatabaseOptions,
  type PartName,
  type StartOptions,
  type StorageOptions,
} from "./amends-options.ts";
import { checkDatabase } from "./check-database.ts";
import { guarded, silent, type Logger } from "./log/logger.ts";
import { Notices } from "./log/notices.ts";
import { Outages } from "./log/outages.ts";
import { makeContext } from "./part-context.ts";
import {
  buildParts,
  closeParts,
  configured,
  dutiesOf,
  noDatabase,
  noParts,
  undefinedIfStopped,
  waitsForEvent,
  type Parts,
  type SagaTools,
} from "./parts.ts";
import { LongSteps } from "./budget/long-steps.ts";
import { nextDueMs } from "./budget/next-due.ts";
import { Readiness } from "./health/readiness.ts";
import type { Retention } from "./retention/retention.ts";
import { buildSagaParts } from "./saga-parts.ts";
import { tracedStart } from "./saga-tracing.ts";
import { syncOperations, type SyncOperations } from "./sync-operations.ts";
import { WorkerLookout } from "./workers.ts";
import { Worker, type StopOptions, type WorkerOptions } from "./worker.ts";

/**
 * Durable sagas, and the parts beside them, on one database. `Tx` is the type of the database's transactions;
 * `Category` are the categories of the data map, if there is one.
 */
export class Amends<Tx = unknown, Category extends string = string> {
  readonly #database: Database<Tx> | undefined;
  readonly #clock: Clock;
  readonly #context: PartContext<Tx>;
  readonly #registry: Registry;
  readonly #journal: Journal;
  readonly #engine: Engine;
  readonly #operators: Operators;
  readonly #logger: Logger;
  readonly #outages: Outages;
  readonly #notices: Notices;
  readonly #parts: Parts<Tx, Category>;
  readonly #closing: AbortController = new AbortController();
  readonly #workers: Set<Worker> = new Set();
  readonly #lookout: WorkerLookout | undefined;
  readonly #longSteps: LongSteps;

  constructor(options: DatabaseOptions<Tx, Category> | StorageOptions) {
    checkOptions(options);
    // Each wait for the database adds a listener to the signal: their number is not a leak, of which Node.js would warn.
    setMaxListeners(0, this.#closing.signal);
    this.#database = options.database;
    this.#clock = (options.database ?? options).clock ?? systemClock;
    this.#logger = options.logger ? guarded(options.logger) : silent;
    this.#outages = new Outages(this.#logger, this.#clock);
    this.#notices = new Notices(this.#logger, this.#outages, options.onStalled);
    this.#context = makeContext(options, {
      clock: this.#clock,
      logger: this.#logger,
      notices: this.#notices,
      outages: this.#outages,
      closing: this.#closing.signal,
      workers: this.#workers,
    });
    const sagas = buildSagaParts(options, this.#context, this.#notices);
    this.#registry = sagas.registry;
    this.#longSteps = new LongSteps(() => this.#registry.all, this.#notices);
    this.#journal = sagas.journal;
    this.#engine = sagas.engine;
    this.#operators = sagas.operators;
    const db = options.database as Database | undefined;
    this.#lookout = db && new WorkerLookout(db, () => this.#isWorking(), this.#logger);
    this.#parts = options.database ? buildParts(this.#context, options, this.#sagaTools()) : noParts();
  }

  /** Applies missing migrations to the database. It can be called at every start, from several processes at once. */
  async migrate(options: MigrateOptions = {}): Promise<readonly string[]> {
    return this.#database ? migrate(this.#database, options) : [];
  }

  /** Publishes events, and shows and controls the sagas over them. Needs the option `events`. */
  get events(): EventFlow<Tx> {
    return this.#part("events");
  }

  /** Enqueues durable calls, and shows those that were abandoned. Needs the option `calls`. */
  get calls(): Calls<Tx> {
    return this.#part("calls");
  }

  /** Publishes webhooks, and shows subscriptions and deliveries. Needs the option `webhooks`. */
  get webhooks(): Webhooks<Tx> {
    return this.#part("webhooks");
  }

  /** Erases and corrects a person's data, here and in other systems. Needs the option `erasure`. */
  get erasure(): Erasure<Tx, Category> {
    return this.#part("erasure");
  }

  /** Removes or archives ended sagas, events and deliveries. Needs the option `retention`. */
  get retention(): Retention {
    return this.#part("retention");
  }

  /**
   * Registers a saga in this process, before a worker starts. A definition with the same name, version and plan
   * replaces the registered one, even while a worker runs.
   */
  register(saga: AnySaga): void {
    const isKnown = this.#registry.get(saga?.name, saga?.version) !== undefined;
    if (!isKnown && this.#isWorking()) {
      throw new AmendsError(
        "NOT_ALLOWED_NOW",
        `Saga ${saga.name} was registered while a worker runs. Register sagas before \`worker.start()\`.`,
      );
    }
    this.#registry.add(saga);
    if (!waitsForEvent(saga) || !this.#database) return;
    this.#parts.events ??= new EventFlow(this.#context, [], this.#sagaTools());
    this.#parts.events.addSaga(saga);
  }

  /** Starts a saga, or finds it: the same id with the same input is the same saga. Ids are unique over all sagas. */
  async start<Input, Output, Results, Failure>(
    saga: Startable<Input, Output, Results, Failure>,
    input: NoInfer<Input>,
    options: StartOptions<Tx> = {},
  ): Promise<SagaRun<Results, Failure>> {
    this.#refuseClosed();
    refuseUnknown(options, ["id", "tx"], "amends.start");
    const tx = givenTransaction(options, "amends.start");
    if (tx !== undefined && !this.#database) {
      throw new AmendsError("NOT_SUPPORTED", "A custom `storage` cannot join a transaction. Leave `tx` out.");
    }
    const session = tx === undefined ? undefined : this.#database?.join(tx);
    const { tracer } = this.#context;
    const start = (id: string | undefined) => this.#engine.start(saga, input, id, session);
    const started = await tracedStart(tracer === untraced ? undefined : tracer, saga.name, options.id, start);
    return new SagaRun<Results, Failure>(this.#handleTools(), started);
  }

  /** Sends a signal to a saga durably, for a step that waits now or later. False if it was sent before. */
  async signal<Input>(
    id: string,
    signal: SignalType<string, Input>,
    payload: NoInfer<Input>,
    options: SignalOptions<Tx> = {},
  ): Promise<boolean> {
    this.#refuseClosed();
    return sendSignal(this.#signalTools(), id, signal, payload, options);
  }

  /** The operations in a synchronous transaction of SQLite, such as `db.transaction(fn)` of better-sqlite3. */
  readonly sync: SyncOperations<Tx, Category> = syncOperations<Tx, Category>({
    begin: (saga, input, id, tx) => this.#engine.startNow(saga, input, id, joinNow(this.#database, tx)),
    handles: () => this.#handleTools(),
    signals: () => this.#signalTools(),
    parts: this,
  });

  /** A handle on an existing saga. A definition types it; a saga of another definition is refused. */
  get(id: string): Promise<SagaRun>;
  get<Input, Output, Results, Failure>(
    saga: Startable<Input, Output, Results, Failure>,
    id: string,
  ): Promise<SagaRun<Results, Failure>>;
  async get(first: string | SagaDefinition | AnyReference, second?: string): Promise<SagaRun> {
    const [id, saga] = typeof first === "string" ? [first, undefined] : [second as string, first];
    const record = await this.#journal.load(id);
    if (!record) throw new AmendsError("SAGA_NOT_FOUND", "There is no saga with this id.", { id });
    if (saga && saga.name !== record.name) {
      throw new AmendsError(
        "SAGA_CONFLICT",
        `The id belongs to a saga of ${record.name}, not of ${saga.name}. Ids are unique over all sagas.`,
        { id, name: record.name },
      );
    }
    const run = this.#engine.active.get(id);
    return new SagaRun(this.#handleTools(), { id, created: false, run, sinceVersion: record.version });
  }

  /** Reads a saga and its timeline; undefined if there is none with this id. */
  async inspect(id: string): Promise<SagaView | undefined> {
    const record = await this.#journal.load(id);
    return record && viewOf(record);
  }

  /** Reads a saga that retention has archived; undefined if there is none with this id. */
  async archived(id: string): Promise<ArchivedSaga | undefined> {
    return this.#database && readArchived(retrying(this.#database), id);
  }

  /** Makes the worker of this process. Sagas that are started here also run here while it has free slots. */
  worker(options: WorkerOptions = {}): Worker {
    const database = this.#database as Database | undefined;
    const worker: Worker = new Worker(
      {
        duties: () => [this.#engine.pool, ...dutiesOf(this.#parts)],
        clock: this.#clock,
        watch: (operation) => this.#outages.watch(operation),
        owner: this.#context.owner,
        check: (duties) => this.#check(worker, duties),
        readiness: database && new Readiness(database),
        presence: database && new Presence(database, this.#context.owner),
        nextDueMs: database && (() => nextDueMs(retrying(database))),
        warnOfLongSteps: (workMs) => this.#longSteps.warn(workMs),
        listen: database?.listen && ((onNotice) => database.listen?.(onNotice) ?? (() => undefined)),
      },
      options,
    );
    this.#workers.add(worker);
    return worker;
  }

  /** What needs an operator now, in every part. */
  readonly attention: {
    /** Lists the items, oldest first, page by page. */
    list(options?: AttentionOptions): Promise<AttentionPage>;
    /** Counts the items of each kind. */
    count(): Promise<AttentionCounts>;
  } = {
    list: async (options) => listAttention(this.#attentionReader(), options),
    count: async () => countAttention(this.#attentionReader()),
  };

  /** Cancels a saga that has not reached its pivot: it compensates. */
  async cancel(id: string, note: SagaNote): Promise<SagaView> {
    return viewOf(await this.#operators.cancel(id, note));
  }

  /** Retries a stalled saga, with new attempts. */
  async retry(id: string, note: SagaNote): Promise<SagaView> {
    return viewOf(await this.#operators.retry(id, note));
  }

  /** Skips a step of a stalled saga whose work an operator has done by hand. */
  async skip(id: string, step: string, note: SkipNote): Promise<SagaView> {
    return viewOf(await this.#operators.skip(id, step, note));
  }

  /** Ends a stalled saga by hand, as COMPLETED or FAILED. */
  async resolve(id: string, as: "COMPLETED" | "FAILED", note: SagaNote): Promise<SagaView> {
    return viewOf(await this.#operators.resolve(id, as, note));
  }

  /** Counters of what this process did so far. */
  get counters(): Readonly<Counters> {
    return this.#engine.counters;
  }

  /** Stops the worker, if one runs, and closes the connections that Amends opened. */
  async close(options: StopOptions = {}): Promise<void> {
    refuseUnknown(options, ["deadline"], "amends.close");
    await Promise.all([...this.#workers].map((worker) => worker.stop(options)));
    this.#closing.abort();
    await closeParts(this.#parts);
    await this.#database?.close();
    this.#outages.close();
  }

  /** @internal What the parts share, for the console and for telemetry. */
  get context(): PartContext<Tx> {
    return this.#context;
  }

  /** @internal The parts that were configured, for the console. */
  get parts(): Readonly<Parts<Tx, Category>> {
    return this.#parts;
  }

  #part<Name extends PartName>(name: Name): NonNullable<Parts<Tx, Category>[Name]> {
    if (!this.#database) throw noDatabase();
    return configured(this.#parts[name], name) as NonNullable<Parts<Tx, Category>[Name]>;
  }

  #sagaTools(): SagaTools {
    return {
      known: this.#registry.all,
      inspect: (id) => this.inspect(id),
      runSaga: async (saga, input, id, timeout) => {
        const run = new SagaRun(this.#handleTools(), await this.#engine.start(saga, input, id, undefined));
        return run.result({ timeout }).catch(undefinedIfStopped);
      },
      tellSagas: (event, values) => tellSagas(this.#signalTools(), event, values),
    };
  }

  #attentionReader(): Reader {
    if (this.#database) return retrying(this.#database);
    throw new AmendsError("NOT_SUPPORTED", "A custom `storage` has no attention list. Use `onStalled`.");
  }

  #signalTools(): SignalTools<Tx> {
    const retryLimits = retryLimitsOf(this.#context, "signals");
    return { db: this.#context.database, engine: this.#engine, retryLimits, newId };
  }

  #handleTools(): ConstructorParameters<typeof SagaRun>[0] {
    const [clock, workers] = [this.#clock, this.#lookout];
    return { engine: this.#engine, journal: this.#journal, operators: this.#operators, clock, workers };
  }

  async #check(worker: Worker, duties: readonly Duty[]): Promise<void> {
    this.#refuseClosed();
    if ([...this.#workers].some((other) => other !== worker && other.running)) {
      throw new AmendsError(
        "NOT_ALLOWED_NOW",
        "This Amends already has a running worker; one worker runs everything that is registered.",
      );
    }
    const db = this.#database as Database | undefined;
    const tools = { registry: this.#registry, notices: this.#notices, sagas: this.#engine.pool };
    if (db) await checkDatabase({ db, ...tools }, duties);
  }

  #isWorking(): boolean {
    return [...this.#workers].some(({ running }) => running);
  }

  #refuseClosed(): void {
    if (this.#closing.signal.aborted) throw closedError();
  }
}
