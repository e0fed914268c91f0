/** The front of the library: one object that starts sagas, makes workers, holds the parts, and lets people see and steer. */
import { attentionOf, type Attention } from "../attention/part.ts";
import type { Bulk } from "../bulk/bulk.ts";
import type { Count } from "../core/count.ts";
import { AmendsError } from "../core/errors.ts";
import { refuseUnknown } from "../core/options.ts";
import type { Erasure } from "../erasure/erasure.ts";
import { EventFlow } from "../events/flow.ts";
import type { Calls } from "../outbox/calls/calls.ts";
import type { AnySaga, SagaDefinition } from "../sagas/define/definition.ts";
import type { AnyReference, Startable } from "../sagas/define/reference.ts";
import type { Counters } from "../sagas/engine/engine.ts";
import { findSaga, SagaRun } from "../sagas/view/handle.ts";
import type { EndListener } from "../sagas/engine/ends.ts";
import type { CancelNote, OperatorNote, SagaNote, SkipNote } from "../sagas/view/operators.ts";
import { readArchived, type ArchivedSaga } from "../sagas/retention/archive.ts";
import type { SignalType } from "../sagas/define/signal.ts";
import { sendSignal, type SignalOptions } from "../sagas/journal/signals.ts";
import {
  countItems,
  listItems,
  type SagaList,
  type SagaListOptions,
  type SagaQuery,
} from "../sagas/view/list.ts";
import { viewOf, type SagaView } from "../sagas/view/view.ts";
import type { Schedules } from "../schedules/schedules.ts";
import { joinNow } from "../storage/joins/at-once.ts";
import { migrate, type MigrateOptions } from "../storage/migrations/migrate.ts";
import { retrying } from "../storage/read/reader.ts";
import type { Webhooks } from "../webhooks/webhooks.ts";
import type { PartContext } from "../runtime/part.ts";
import { untraced } from "../runtime/trace.ts";
import {
  START_OPTIONS,
  type DatabaseOptions,
  type PartName,
  type StartItem,
  type StartManyOptions,
  type StartOptions,
  type StorageOptions,
} from "./amends-options.ts";
import { Assembly } from "./assembly.ts";
import { configured, noDatabase, waitsForEvent, type Parts } from "./parts.ts";
import type { Paused, PausedList, PausedOptions } from "./pauses/pauses.ts";
import type { PauseTarget } from "./pauses/target.ts";
import type { Retention } from "./retention/retention.ts";
import { tracedStart } from "./saga-tracing.ts";
import { syncOperations, type SyncOperations } from "./sync-operations.ts";
import type { StopOptions, Worker, WorkerOptions } from "./worker.ts";

/** With what to use instead. */
const ATTENTION = "attention list. Use `onStalled`";

/**
 * Durable sagas, and the parts beside them, on one database. `Tx` is the type of the database's transactions;
 * `Category` are the categories of the data map, if there is one.
 */
export class Amends<Tx = unknown, Category extends string = string> {
  readonly #inside: Assembly<Tx, Category>;

  constructor(options: DatabaseOptions<Tx, Category> | StorageOptions) {
    this.#inside = new Assembly(options);
  }

  /** Applies missing migrations to the database. It can be called at every start, from several processes at once. */
  async migrate(options: MigrateOptions = {}): Promise<readonly string[]> {
    return this.#inside.database ? migrate(this.#inside.database, options) : [];
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

  /** Starts sagas at the times that a cron text names. It needs no option, and a `database`. */
  get schedules(): Schedules<Tx> {
    const { schedules } = this.#inside.parts;
    if (schedules) return schedules;
    throw new AmendsError("NOT_SUPPORTED", "A custom `storage` has no schedules. Pass `database` instead.");
  }

  /** Acts on many sagas, outbox entries or deliveries at once, in the background. It needs no option, and a `database`. */
  get bulk(): Bulk {
    const { bulk } = this.#inside.parts;
    if (bulk) return bulk;
    throw new AmendsError(
      "NOT_SUPPORTED",
      "A custom `storage` has no bulk actions. Pass `database` instead.",
    );
  }

  /**
   * Registers a saga in this process, before a worker starts. A definition with the same name, version and plan
   * replaces the registered one, even while a worker runs.
   */
  register(saga: AnySaga): void {
    this.#inside.registry.add(saga, this.#inside.isWorking);
    if (!waitsForEvent(saga) || !this.#inside.database) return;
    this.#inside.parts.events ??= new EventFlow(this.#inside.context, [], this.#inside.sagaTools());
    this.#inside.parts.events.addSaga(saga);
  }

  /** Starts a saga, or finds it: the same id with the same input is the same saga. Ids are unique over all sagas. */
  async start<Input, Output, Results, Failure, Attribute extends string>(
    saga: Startable<Input, Output, Results, Failure, Attribute>,
    input: NoInfer<Input>,
    options: StartOptions<Tx, NoInfer<Attribute>> = {},
  ): Promise<SagaRun<Results, Failure>> {
    this.#inside.refuseClosed();
    refuseUnknown(options, START_OPTIONS, "amends.start");
    const session = this.#inside.join(options, "amends.start");
    const { tracer } = this.#inside.context;
    const start = (id: string | undefined) =>
      this.#inside.engine.starts.start(
        saga,
        input,
        id === options.id ? options : { ...options, id },
        session,
      );
    const started = await tracedStart(tracer === untraced ? undefined : tracer, saga.name, options.id, start);
    return new SagaRun<Results, Failure>(this.#inside.handleTools(), started);
  }

  /**
   * Starts up to 1,000 sagas of one definition in one commit: all of them or none. An id that exists is the same saga if the input
   * is the same; otherwise `SAGA_CONFLICT` refuses all. Returns the handles in the order of `starts`.
   */
  async startMany<Input, Output, Results, Failure, Attribute extends string>(
    saga: Startable<Input, Output, Results, Failure, Attribute>,
    starts: readonly StartItem<NoInfer<Input>, NoInfer<Attribute>>[],
    options: StartManyOptions<Tx> = {},
  ): Promise<readonly SagaRun<Results, Failure>[]> {
    this.#inside.refuseClosed();
    refuseUnknown(options, ["tx"], "amends.startMany");
    const session = this.#inside.join(options, "amends.startMany");
    const started = await this.#inside.engine.starts.startMany(saga, starts, session);
    return started.map((one) => new SagaRun<Results, Failure>(this.#inside.handleTools(), one));
  }

  /** Sends a signal to a saga durably, for a step that waits now or later. False if it was sent before. */
  async signal<Input>(
    id: string,
    signal: SignalType<string, Input>,
    payload: NoInfer<Input>,
    options: SignalOptions<Tx> = {},
  ): Promise<boolean> {
    this.#inside.refuseClosed();
    return sendSignal(this.#inside.signalTools(), id, signal, payload, options);
  }

  /** The operations in a synchronous transaction of SQLite, such as `db.transaction(fn)` of better-sqlite3. */
  readonly sync: SyncOperations<Tx, Category> = syncOperations<Tx, Category>({
    starts: () => this.#inside.engine.starts,
    join: (tx) => joinNow(this.#inside.database, tx),
    handles: () => this.#inside.handleTools(),
    signals: () => this.#inside.signalTools(),
    parts: this,
  });

  /** A handle on an existing saga. A definition types it; a saga of another definition is refused. */
  get(id: string): Promise<SagaRun>;
  get<Input, Output, Results, Failure>(
    saga: Startable<Input, Output, Results, Failure>,
    id: string,
  ): Promise<SagaRun<Results, Failure>>;
  async get(first: string | SagaDefinition | AnyReference, second?: string): Promise<SagaRun> {
    const found = await findSaga(this.#inside.journal, this.#inside.engine, first, second);
    return new SagaRun(this.#inside.handleTools(), found);
  }

  /** Reads a saga and its timeline; undefined if there is none with this id. */
  async inspect(id: string): Promise<SagaView | undefined> {
    return this.#inside.inspect(id);
  }

  /**
   * Lists sagas, those that changed last first, page by page. Every filter is served by an index. A saga that changes while you page
   * moves to the front: to go through all, filter by a state that does not change by itself, such as STALLED or FAILED. Archived
   * sagas are not listed.
   */
  async list<Attribute extends string = string>(
    options: SagaListOptions<Attribute> = {},
  ): Promise<SagaList<Attribute>> {
    return listItems(this.#inside.reader("lists of sagas"), options);
  }

  /**
   * Counts the sagas that `list` would list, up to 10,000, or among the newest 2,000 if it is asked for several attributes, or an
   * attribute and an error. `exact` is false if there may be more.
   */
  async count<Attribute extends string = string>(query: SagaQuery<Attribute> = {}): Promise<Count> {
    return countItems(this.#inside.reader("lists of sagas"), query);
  }

  /** Reads a saga that retention has archived; undefined if there is none with this id. */
  async archived(id: string): Promise<ArchivedSaga | undefined> {
    return this.#inside.database && readArchived(retrying(this.#inside.database), id);
  }

  /** Makes the worker of this process. Sagas that are started here also run here while it has free slots. */
  worker(options: WorkerOptions = {}): Worker {
    return this.#inside.worker(options);
  }

  /** What needs an operator now, in every part. */
  readonly attention: Attention = attentionOf(() => this.#inside.reader(ATTENTION));

  /** Cancels a saga that has not reached its pivot: it compensates. */
  async cancel(id: string, note: CancelNote): Promise<SagaView> {
    return viewOf(await this.#inside.operators.cancel(id, note));
  }

  /** Retries a stalled saga, with new attempts. */
  async retry(id: string, note: SagaNote): Promise<SagaView> {
    return viewOf(await this.#inside.operators.retry(id, note));
  }

  /** Skips a step of a stalled saga whose work an operator has done by hand. */
  async skip(id: string, step: string, note: SkipNote): Promise<SagaView> {
    return viewOf(await this.#inside.operators.skip(id, step, note));
  }

  /** Ends a stalled saga by hand, as COMPLETED or FAILED. */
  async resolve(id: string, as: "COMPLETED" | "FAILED", note: SagaNote): Promise<SagaView> {
    return viewOf(await this.#inside.operators.resolve(id, as, note));
  }

  /**
   * Pauses a saga, all sagas of a name, or all calls of a name, until it is resumed. What runs finishes its step, nothing else begins,
   * and what is started, sent or enqueued is kept. Time goes on. Returns the pause that is in force: the first one, where it was paused
   * already.
   */
  async pause(target: PauseTarget, note: OperatorNote): Promise<Paused> {
    return this.#inside.pauses.pause(target, note);
  }

  /** Resumes what was paused, from where it stands. False if it was not paused. */
  async resume(target: PauseTarget, note: OperatorNote): Promise<boolean> {
    return this.#inside.pauses.resume(target, note);
  }

  /** Lists what is paused: names, and sagas that were paused one by one, page by page. */
  async paused(options: PausedOptions = {}): Promise<PausedList> {
    return this.#inside.pauses.list(options);
  }

  /**
   * Takes back a COMPLETED saga without a pivot: another saga undoes its steps in reverse, under their usual keys. Asking again returns
   * the same one.
   */
  async reverse(id: string, note: OperatorNote): Promise<SagaRun> {
    const { id: reversal, version } = await this.#inside.operators.reverse(id, note);
    return new SagaRun(this.#inside.handleTools(), {
      id: reversal,
      created: false,
      run: this.#inside.engine.active.get(reversal),
      sinceVersion: version,
    });
  }

  /**
   * Calls a function after each end or stall of a saga in this process, once it is durable. It is a hint: for what must follow an end, use
   * `onCompleted`, `onFailed` and `onStalled` of the saga. Returns a function that stops it.
   */
  onEnd(listener: EndListener): () => void {
    return this.#inside.engine.ends.listen(listener);
  }

  /** Counters of what this process did so far. */
  get counters(): Readonly<Counters> {
    return this.#inside.engine.counters;
  }

  /** Stops the worker, if one runs, and closes the connections that Amends opened. */
  async close(options: StopOptions = {}): Promise<void> {
    refuseUnknown(options, ["deadline"], "amends.close");
    await this.#inside.close(options);
  }

  /** @internal What the parts share, for the console and for telemetry. */
  get context(): PartContext<Tx> {
    return this.#inside.context;
  }

  /** @internal The parts that were configured, for the console. */
  get parts(): Readonly<Parts<Tx, Category>> {
    return this.#inside.parts;
  }

  #part<Name extends PartName>(name: Name): NonNullable<Parts<Tx, Category>[Name]> {
    if (!this.#inside.database) throw noDatabase();
    return configured(this.#inside.parts[name], name) as NonNullable<Parts<Tx, Category>[Name]>;
  }
}
