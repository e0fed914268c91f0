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
import type { AnySaga } from "../sagas/define/definition.ts";
import type { AnyReference, Startable } from "../sagas/define/reference.ts";
import type { Started } from "../sagas/engine/engine.ts";
import type { SignalType } from "../sagas/define/signal.ts";
import { sendSignalNow, type SignalOptions, type SignalTools } from "../sagas/journal/signals.ts";
import { SagaRun, type HandleTools } from "../sagas/view/handle.ts";
import type { Published, WebhookEvent } from "../webhooks/publish/publisher.ts";
import type { Webhooks } from "../webhooks/webhooks.ts";
import type { StartOptions } from "./amends-options.ts";

/** The open transaction that a synchronous operation writes in. */
export interface InTransaction<Tx> {
  /** Your own open transaction. */
  readonly tx: Tx;
}

/** The operations of `amends.sync`, for the synchronous transactions of SQLite. */
export interface SyncOperations<Tx, Category extends string = string> {
  /** Starts a saga, or finds it, in your synchronous transaction. */
  start<Input, Output, Results, Failure>(
    saga: Startable<Input, Output, Results, Failure>,
    input: NoInfer<Input>,
    options: StartOptions<Tx> & InTransaction<Tx>,
  ): SagaRun<Results, Failure>;
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
  readonly begin: (saga: AnySaga | AnyReference, input: unknown, id: string | undefined, tx: Tx) => Started;
  readonly handles: () => HandleTools;
  readonly signals: () => SignalTools<Tx>;
  /** They throw if the part is not configured. */
  readonly parts: {
    readonly events: EventFlow<Tx>;
    readonly webhooks: Webhooks<Tx>;
    readonly calls: Calls<Tx>;
    readonly erasure: Erasure<Tx, Category>;
  };
}

export function syncOperations<Tx, Category extends string>({
  begin,
  handles,
  signals,
  parts,
}: SyncTools<Tx, Category>): SyncOperations<Tx, Category> {
  return {
    start(saga, input, options) {
      refuseUnknown(options, ["id", "tx"], "amends.sync.start");
      return new SagaRun(handles(), begin(saga, input, options.id, options.tx));
    },
    signal: (id, signal, payload, options) => sendSignalNow(signals(), id, signal, payload, options),
    events: { publish: (events, options) => parts.events.publishNow(events, options) },
    webhooks: { publish: (event, options) => parts.webhooks.publishNow(event, options) },
    calls: { enqueue: (call, input, options) => parts.calls.enqueueNow(call, input, options) },
    erasure: {
      eraseSubject: (subjectId, refs, options) => parts.erasure.eraseSubjectNow(subjectId, refs, options),
      rectifySubject: (subjectId, corrections, refs, options) =>
        parts.erasure.rectifySubjectNow(subjectId, corrections, refs, options),
    },
  };
}
