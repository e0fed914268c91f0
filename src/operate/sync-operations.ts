/**
 * `amends.sync`: the operations that write in a synchronous transaction, such as `db.transaction(fn)` of better-sqlite3. They return
 * when the rows are written, and nothing of them waits: a schema with asynchronous checks, or an audit sink that must be
 * awaited, is refused.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { refuseUnknown } from "../core/options.ts";
import type { EventValue } from "../events/define/event.ts";
import type { Correction, SubjectRef } from "../core/outbox/entry.ts";
import type { Erasure } from "../erasure/erasure.ts";
import type { ErasureReport } from "../erasure/local/erase.ts";
import type { RectificationReport, RectifyOptions } from "../erasure/local/rectify.ts";
import type { EventFlow } from "../events/flow.ts";
import type { FlowRun } from "../events/run-handle.ts";
import type { Calls } from "../outbox/calls/calls.ts";
import type { CallDefinition } from "../outbox/calls/definition.ts";
import type { EnqueueOptions, QueuedCall } from "../outbox/calls/enqueue.ts";
import type { Startable } from "../sagas/define/reference.ts";
import type { Starts } from "../sagas/start/starts.ts";
import type { SignalType } from "../sagas/define/signal.ts";
import type { OperatorNote } from "../core/operator-note.ts";
import type { ScheduleDefinition } from "../schedules/definition.ts";
import type { PutResult } from "../schedules/put.ts";
import type { Schedules } from "../schedules/schedules.ts";
import { sendSignalNow, type SignalOptions, type SignalTools } from "../sagas/journal/signals.ts";
import { SagaRun, type HandleTools } from "../sagas/view/handle.ts";
import type { SyncSession } from "../storage/database.ts";
import type { Published, WebhookEvent } from "../webhooks/publish/publisher.ts";
import type { Webhooks } from "../webhooks/webhooks.ts";
import { START_OPTIONS, type StartItem, type StartOptions } from "./amends-options.ts";

/** The open transaction that a synchronous operation writes in. */
export interface InTransaction<Tx> {
  /** Your own open transaction. */
  readonly tx: Tx;
}

/** The operations of `amends.sync`, for the synchronous transactions of SQLite. */
export interface SyncOperations<Tx, Category extends string = string> {
  /** Starts a saga, or finds it, in your synchronous transaction. */
  start<Input, Output, Results, Failure, Attribute extends string>(
    saga: Startable<Input, Output, Results, Failure, Attribute>,
    input: NoInfer<Input>,
    options: StartOptions<Tx, NoInfer<Attribute>> & InTransaction<Tx>,
  ): SagaRun<Results, Failure>;
  /** Starts up to 1,000 sagas of one definition, all of them or none, in your synchronous transaction. */
  startMany<Input, Output, Results, Failure, Attribute extends string>(
    saga: Startable<Input, Output, Results, Failure, Attribute>,
    starts: readonly StartItem<NoInfer<Input>, NoInfer<Attribute>>[],
    options: InTransaction<Tx>,
  ): readonly SagaRun<Results, Failure>[];
  /** Sends a signal in your synchronous transaction. False if it was sent before. */
  signal<Input>(
    id: string,
    signal: SignalType<string, Input>,
    payload: NoInfer<Input>,
    options: SignalOptions<Tx> & InTransaction<Tx>,
  ): boolean;
  /** `amends.events`, in your synchronous transaction. */
  readonly events: {
    /** Publishes one event or several. */
    publish(events: EventValue | readonly EventValue[], options: InTransaction<Tx>): readonly FlowRun[];
  };
  /** `amends.webhooks`, in your synchronous transaction. */
  readonly webhooks: {
    /** Publishes an event to every matching subscription. */
    publish(event: WebhookEvent, options: InTransaction<Tx>): Published;
  };
  /** `amends.calls`, in your synchronous transaction. */
  readonly calls: {
    /** Enqueues a call. */
    enqueue<Schema extends StandardSchemaV1>(
      call: CallDefinition<Schema>,
      input: StandardSchemaV1.InferInput<Schema>,
      options: EnqueueOptions<Tx> & InTransaction<Tx>,
    ): QueuedCall;
  };
  /** `amends.schedules`, in your synchronous transaction. */
  readonly schedules: {
    /** Puts a schedule. */
    put<Input, Output, Results, Failure>(
      name: string,
      definition: ScheduleDefinition<Input, Output, Results, Failure>,
      options: InTransaction<Tx>,
    ): PutResult;
    /** Removes a schedule. False if there was no such schedule. */
    remove(name: string, note: OperatorNote & InTransaction<Tx>): boolean;
  };
  /** `amends.erasure`, in your synchronous transaction. */
  readonly erasure: {
    /** Erases a subject, without committing the transaction. */
    eraseSubject(subjectId: string, refs: readonly SubjectRef[], options: InTransaction<Tx>): ErasureReport;
    /** Corrects a subject's data, without committing the transaction. */
    rectifySubject(
      subjectId: string,
      corrections: readonly (Correction & { readonly category: Category })[],
      refs: readonly SubjectRef[],
      options: InTransaction<Tx> & RectifyOptions,
    ): RectificationReport;
  };
}

export interface SyncTools<Tx, Category extends string> {
  readonly starts: () => Pick<Starts, "startNow" | "startManyNow">;
  readonly join: (tx: Tx) => SyncSession;
  readonly handles: () => HandleTools;
  readonly signals: () => SignalTools<Tx>;
  /** They throw if the part is not configured. */
  readonly parts: {
    readonly events: EventFlow<Tx>;
    readonly webhooks: Webhooks<Tx>;
    readonly calls: Calls<Tx>;
    readonly schedules: Schedules<Tx>;
    readonly erasure: Erasure<Tx, Category>;
  };
}

export function syncOperations<Tx, Category extends string>({
  starts,
  join,
  handles,
  signals,
  parts,
}: SyncTools<Tx, Category>): SyncOperations<Tx, Category> {
  return {
    start(saga, input, options) {
      refuseUnknown(options, START_OPTIONS, "amends.sync.start");
      return new SagaRun(handles(), starts().startNow(saga, input, options, join(options.tx)));
    },
    startMany(saga, items, options) {
      refuseUnknown(options, ["tx"], "amends.sync.startMany");
      const started = starts().startManyNow(saga, items, join(options.tx));
      return started.map((one) => new SagaRun(handles(), one));
    },
    signal: (id, signal, payload, options) => sendSignalNow(signals(), id, signal, payload, options),
    events: { publish: (events, options) => parts.events.publishNow(events, options) },
    webhooks: { publish: (event, options) => parts.webhooks.publishNow(event, options) },
    schedules: {
      put: (name, definition, options) => parts.schedules.putNow(name, definition, options),
      remove: (name, note) => parts.schedules.removeNow(name, note),
    },
    calls: { enqueue: (call, input, options) => parts.calls.enqueueNow(call, input, options) },
    erasure: {
      eraseSubject: (subjectId, refs, options) => parts.erasure.eraseSubjectNow(subjectId, refs, options),
      rectifySubject: (subjectId, corrections, refs, options) =>
        parts.erasure.rectifySubjectNow(subjectId, corrections, refs, options),
    },
  };
}
