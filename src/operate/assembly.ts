/** What stands behind `Amends`: its database, the engine of sagas, the parts, and the tools that its operations are given. */
import { setMaxListeners } from "node:events";
import { AmendsError, closedError } from "../core/errors.ts";
import { sagaMachine } from "../core/saga/machine.ts";
import { givenTransaction } from "../core/options.ts";
import { heldBy } from "../core/start/held.ts";
import type { Registry } from "../sagas/define/registry.ts";
import type { Engine } from "../sagas/engine/engine.ts";
import type { Journal } from "../sagas/journal/journal.ts";
import type { SignalTools } from "../sagas/journal/signals.ts";
import type { HandleTools } from "../sagas/view/handle.ts";
import type { Operators } from "../sagas/view/operators.ts";
import { limitsInNeed } from "../sagas/view/held.ts";
import { viewOf, type SagaView } from "../sagas/view/view.ts";
import { systemClock, type Clock } from "../storage/clock.ts";
import type { Database, Session } from "../storage/database.ts";
import { retrying, type Reader } from "../storage/read/reader.ts";
import type { Duty } from "../runtime/duty.ts";
import { newId } from "../runtime/identifiers.ts";
import { retryLimitsOf, type PartContext } from "../runtime/part.ts";
import { checkOptions, type DatabaseOptions, type StorageOptions } from "./amends-options.ts";
import { LongSteps } from "./budget/long-steps.ts";
import { checkDatabase } from "./check-database.ts";
import { guarded, silent, type Logger } from "./log/logger.ts";
import { Notices } from "./log/notices.ts";
import { Outages } from "./log/outages.ts";
import { makeWorker, refuseSecond } from "./make-worker.ts";
import { makeContext } from "./part-context.ts";
import { buildParts, closeParts, noParts, sagaToolsOf, type Parts, type SagaTools } from "./parts.ts";
import { Pauses } from "./pauses/pauses.ts";
import { buildSagaParts, bulkOperators, scheduledSagas, type SagaParts } from "./saga-parts.ts";
import { WorkerLookout } from "./workers.ts";
import type { StopOptions, Worker, WorkerOptions } from "./worker.ts";

export class Assembly<Tx, Category extends string> {
  readonly database: Database<Tx> | undefined;
  readonly context: PartContext<Tx>;
  readonly parts: Parts<Tx, Category>;
  readonly pauses: Pauses;
  readonly #clock: Clock;
  readonly #sagas: SagaParts;
  readonly #outages: Outages;
  readonly #notices: Notices;
  readonly #closing: AbortController = new AbortController();
  readonly #workers: Set<Worker> = new Set();
  readonly #lookout: WorkerLookout | undefined;
  readonly #longSteps: LongSteps;

  constructor(options: DatabaseOptions<Tx, Category> | StorageOptions) {
    checkOptions(options);
    // Each wait for the database adds a listener to the signal: their number is not a leak, of which Node.js would warn.
    setMaxListeners(0, this.#closing.signal);
    this.database = options.database;
    this.#clock = (options.database ?? options).clock ?? systemClock;
    const logger: Logger = options.logger ? guarded(options.logger) : silent;
    this.#outages = new Outages(logger, this.#clock);
    this.#notices = new Notices(logger, this.#outages, options.onStalled);
    this.context = makeContext(options, {
      clock: this.#clock,
      logger,
      notices: this.#notices,
      outages: this.#outages,
      closing: this.#closing.signal,
      workers: this.#workers,
    });
    this.#sagas = buildSagaParts(options, this.context, this.#notices);
    this.#longSteps = new LongSteps(() => this.registry.all, this.#notices);
    const db = options.database as Database | undefined;
    this.#lookout = db && new WorkerLookout(db, () => this.isWorking, logger);
    this.pauses = new Pauses({
      database: db,
      context: this.context,
      engine: this.engine,
      operators: this.operators,
      onCallsResumed: () => this.parts.calls?.resumed(),
    });
    this.parts = options.database ? buildParts(this.context, options, this.sagaTools()) : noParts();
  }

  get registry(): Registry {
    return this.#sagas.registry;
  }

  get journal(): Journal {
    return this.#sagas.journal;
  }

  get engine(): Engine {
    return this.#sagas.engine;
  }

  get operators(): Operators {
    return this.#sagas.operators;
  }

  get isWorking(): boolean {
    return [...this.#workers].some(({ running }) => running);
  }

  worker(options: WorkerOptions): Worker {
    const worker = makeWorker(
      {
        database: this.database,
        clock: this.#clock,
        owner: this.context.owner,
        engine: this.engine,
        parts: this.parts,
        outages: this.#outages,
        longSteps: this.#longSteps,
        check: (made, duties) => this.#check(made, duties),
      },
      options,
    );
    this.#workers.add(worker);
    return worker;
  }

  async close(options: StopOptions): Promise<void> {
    await Promise.all([...this.#workers].map((worker) => worker.stop(options)));
    this.#closing.abort();
    await closeParts(this.parts);
    await this.database?.close();
    this.#outages.close();
  }

  refuseClosed(): void {
    if (this.#closing.signal.aborted) throw closedError();
  }

  /** The caller's transaction; undefined if there is none. */
  join(options: { readonly tx?: Tx }, where: string): Session | undefined {
    const tx = givenTransaction(options, where);
    if (tx === undefined) return undefined;
    if (this.database) return this.database.join(tx);
    throw new AmendsError("NOT_SUPPORTED", "A custom `storage` cannot join a transaction. Leave `tx` out.");
  }

  reader(what: string): Reader {
    if (this.database) return retrying(this.database);
    throw new AmendsError("NOT_SUPPORTED", `A custom \`storage\` has no ${what}.`);
  }

  async inspect(id: string): Promise<SagaView | undefined> {
    const record = await this.journal.load(id);
    if (!record) return undefined;
    const relatives = await this.journal.family?.relatives(id);
    const named = sagaMachine.isTerminal(record.state.status)
      ? undefined
      : await this.pauses.ofSagas(record.name);
    const limits = limitsInNeed(record);
    const usage = limits && (await this.journal.usage?.(record.name, limits));
    const held = limits && usage ? heldBy(limits, usage) : [];
    return viewOf(record, relatives, held, named && { ...named, kind: "saga" });
  }

  sagaTools(): SagaTools {
    return sagaToolsOf({
      registry: this.registry,
      starts: this.engine.starts,
      scheduled: scheduledSagas(this.#sagas),
      operators: bulkOperators(this.#sagas),
      handles: () => this.handleTools(),
      signals: () => this.signalTools(),
      inspect: (id) => this.inspect(id),
    });
  }

  signalTools(): SignalTools<Tx> {
    const retryLimits = retryLimitsOf(this.context, "signals");
    return { db: this.context.database, engine: this.engine, retryLimits, newId };
  }

  handleTools(): HandleTools {
    const [clock, workers] = [this.#clock, this.#lookout];
    return { engine: this.engine, journal: this.journal, operators: this.operators, clock, workers };
  }

  async #check(worker: Worker, duties: readonly Duty[]): Promise<void> {
    this.refuseClosed();
    refuseSecond(worker, this.#workers);
    const db = this.database as Database | undefined;
    const tools = { registry: this.registry, notices: this.#notices, sagas: this.engine.pool };
    if (db) await checkDatabase({ db, ...tools }, duties);
  }
}
