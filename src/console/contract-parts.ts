/** The HTTP contract of schedules, outbox, erasures, event flows and webhooks, and parts of a saga. The rest is in contract.ts. */
import type { ActionNote, Graph, Instant, Masked, SagaStatus } from "./contract.ts";

/** What a call of a saga has reported of its progress. */
export interface ProgressLine {
  readonly step: string;
  readonly action: "act" | "compensate";
  /** Texts are masked. */
  readonly value: Masked;
  readonly at: Instant;
}

// GET api/paused?limit=&after=: what is paused, names first, then sagas.
// POST api/paused/sagas/{name}/pause, /resume and api/paused/calls/{name}/pause, /resume with an ActionNote: answers with a PausedName.
export interface PausedLine extends SchedulePause {
  /** One saga (`id`), the sagas of a name (`saga`), or the calls of a name (`call`). */
  readonly kind: "id" | "saga" | "call";
  /** The id of the saga; null for a name. */
  readonly id: string | null;
  readonly name: string;
}
export interface PausedName {
  readonly kind: "saga" | "call";
  readonly name: string;
  /** The pause that is in force: the first one, where the name was paused already. Null: it was resumed. */
  readonly paused: PausedLine | null;
  /** False if there was nothing to resume. */
  readonly changed: boolean;
}
/** Of a saga that is paused by itself (`id`), or with all sagas of its name (`saga`). */
export interface SagaPauseLine extends SchedulePause {
  readonly kind: "id" | "saga";
}
/** Sagas that belong to a saga. */
export interface SagaFamily {
  /** The saga that started it, and the step that waits for its end. */
  readonly parent: { readonly id: string; readonly step: string } | null;
  readonly children: readonly RelatedLine[];
  /** The completed saga that it takes back. */
  readonly reverses: string | null;
  /** The saga that takes it back. */
  readonly reversedBy: RelatedLine | null;
}
export interface RelatedLine {
  readonly id: string;
  readonly status: SagaStatus;
  /** The step of the parent that started it; null for a reversal. */
  readonly step: string | null;
}

/** What a saga waits for. */
export interface SagaWait {
  readonly step: string;
  readonly kind: "sleep" | "signal" | "event" | "any" | "round" | "saga";
  /** The name of the signal or the event, the alternatives, or the id of the child saga; null for a sleep. */
  readonly for: string | null;
  readonly since: Instant;
  /** Null if it waits without a limit. */
  readonly until: Instant | null;
}
/** A limit by key of which every place is taken. The key itself is not shown. */
export interface HeldLine {
  readonly kind: "concurrency" | "rate";
  readonly limit: number;
  /** How many of the key run now, or have begun within the period. */
  readonly used: number;
  /** When the first place of a rate returns; null for a concurrency. */
  readonly until: Instant | null;
}

// GET api/schedules?q=&saga=&status=active|paused&limit=&after=: by name. `q` is the beginning of a name.
// GET api/schedules/{id}: the id is the schedule's name.
// POST api/schedules/{id}/pause, /resume with an ActionNote: answers with the ScheduleDetail.
// POST api/schedules/{id}/run with an ActionNote: answers with a ScheduleRun. A worker that has the saga starts it.
// POST api/schedules/{id}/remove with an ActionNote: answers with a RemovedSchedule.
export type ScheduleStatus = "active" | "paused";
export type ScheduleAction = "pause" | "resume" | "run" | "remove";
export interface ScheduleLine {
  /** Its name. */
  readonly id: string;
  readonly status: ScheduleStatus;
  readonly cron: string;
  readonly timezone: string;
  readonly saga: string;
  /** The version of the saga. */
  readonly version: number;
  readonly overlap: "skip" | "allow";
  readonly missed: "one" | "skip" | "all";
  readonly jitterMs: number;
  /** Null while it is paused. */
  readonly next: NextTick | null;
  readonly last: ScheduleTick | null;
  /** The saga that an operator asked for, and that no worker has started yet. */
  readonly pendingRun: string | null;
  readonly paused: SchedulePause | null;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  readonly actions: readonly ScheduleAction[];
}
export interface NextTick {
  readonly at: Instant;
  /** Later than `at` by the jitter. */
  readonly beginsAt: Instant;
}
export interface SchedulePause {
  readonly since: Instant;
  readonly by: string | null;
  readonly reason: string;
}
/** What became of a tick, or of several in a row that had the same outcome. */
export interface ScheduleTick {
  readonly at: Instant;
  /** The last of several ticks; null for one. */
  readonly until: Instant | null;
  readonly outcome: "started" | "skipped" | "missed";
  /** An operator asked for it. */
  readonly run: boolean;
  /** The saga that was started, or the open one because of which the tick was skipped. */
  readonly sagaId: string | null;
  /** Null where there is no saga, or where retention has removed it. */
  readonly sagaStatus: SagaStatus | null;
}
export interface ScheduleDetail extends ScheduleLine {
  readonly input: Masked;
  /** In their order; none while it is paused. */
  readonly nextTicks: readonly NextTick[];
  /** Newest first, 100 at most. */
  readonly lastTicks: readonly ScheduleTick[];
}
export interface ScheduleRun extends ScheduleDetail {
  /** The saga that was asked for. */
  readonly sagaId: string;
}
export interface RemovedSchedule {
  readonly id: string;
  readonly status: "removed";
  readonly actions: readonly never[];
}

// GET api/handlers: every handler of events that a worker has registered, by name; one line for each event that it takes.
// GET api/handlers/{id}: the id is the handler's name.
// POST api/handlers/{id}/retire with an ActionNote: answers with the HandlerDetail.
export type HandlerStatus = "served" | "unserved" | "retired";
export interface HandlerLine {
  /** Its name. */
  readonly id: string;
  readonly event: string;
  /** The newest version of the event that a process can read. */
  readonly version: number;
  /** The saga over events whose step, or whose undo, it does. */
  readonly saga: string | null;
  readonly step: string | null;
  /** `served`: a running worker has it. */
  readonly status: HandlerStatus;
  /** What waits for it, at most 1,000. */
  readonly backlog: number;
  readonly registeredAt: Instant;
  /** When a worker that has it was last heard of. */
  readonly seenAt: Instant;
  readonly actions: readonly "retire"[];
}
export interface HandlerDetail {
  readonly id: string;
  readonly status: HandlerStatus;
  readonly actions: readonly "retire"[];
  readonly subscriptions: readonly HandlerLine[];
  /** After `retire`: how much that waited is handled by nobody. */
  readonly superseded?: number;
}

// GET api/outbox?status=A,B&kind=&subject=&resolver=&limit=&after=
// GET api/outbox/{id}
// POST api/outbox/{id}/requeue, /retry, /resolve with an ActionNote: answers with the OutboxLine. Abandoned events are
// retried or resolved, calls are requeued, erasures are requeued or resolved, rectifications are resolved.
export type OutboxStatus =
  | "pending"
  | "in_flight"
  | "failed"
  | "scheduled"
  | "abandoned"
  | "succeeded"
  | "superseded";
/** Entries that are done are not counted, because their number only grows. */
export type OpenOutboxStatus = Exclude<OutboxStatus, "succeeded" | "superseded">;
export interface OutboxLine {
  readonly id: string;
  readonly kind: string;
  /** The resolver, the event's name, or what is called. */
  readonly name: string;
  readonly status: OutboxStatus;
  readonly operation: "erase" | "rectify" | null;
  readonly subjectId: string | null;
  readonly sagaId: string | null;
  readonly refKind: string | null;
  readonly ref: Masked | null;
  readonly payload: Masked | null;
  readonly attempts: number;
  readonly enqueuedAt: Instant;
  readonly lastAttemptAt: Instant | null;
  readonly nextAttemptAt: Instant | null;
  readonly lastError: string | null;
  readonly actions: readonly ("requeue" | "retry" | "resolve")[];
}

// GET api/erasures?q=&status=open|overdue|completed&limit=&after=: one line per subject's request. `q` is a subject's id.
// GET api/subjects/{id}: a subject's whole trail.
export interface ErasureLine {
  readonly subjectId: string;
  readonly operation: "erase" | "rectify";
  readonly requestedAt: Instant;
  readonly completedAt: Instant | null;
  readonly dueBy: Instant;
  readonly overdue: boolean;
  /** Entries that have not ended. */
  readonly open: number;
  /** Of these, entries that were abandoned: they need an operator. */
  readonly abandoned: number;
}
export interface SubjectTrail {
  readonly subjectId: string;
  readonly requests: readonly ErasureLine[];
  readonly entries: readonly OutboxLine[];
  /** Oldest first. */
  readonly events: readonly AuditEventLine[];
}
export interface AuditEventLine {
  readonly id: string;
  readonly type: string;
  readonly subjectId: string;
  readonly at: Instant;
  /** Facts without personal data. */
  readonly payload: Readonly<Record<string, string | number | boolean | null>>;
}

// GET api/flows?q=&type=&status=A,B&limit=&after=
// `q` is a part of a type, the beginning of a process's id, or a run's id.
// GET api/flows/{id}
// POST api/flows/{id}/retry, /resolve with an ActionNote: answers with the FlowDetail.
export type FlowStatus = "running" | "compensating" | "stalled" | "completed" | "failed";
export interface FlowLine {
  readonly id: string;
  readonly type: string;
  readonly processId: string;
  readonly run: number;
  readonly status: FlowStatus;
  /** The step that is waited for, or that is undone next; null where it has ended, or its steps are not known here. */
  readonly currentStep: string | null;
  readonly completedSteps: readonly string[];
  readonly startedAt: Instant;
  readonly updatedAt: Instant;
  readonly dueAt: Instant | null;
  readonly errorLabel: string | null;
}
export interface FlowDetail extends FlowLine {
  /** What the event with which it failed carries; null where it failed without one. */
  readonly error: Masked | null;
  readonly actions: readonly ("retry" | "resolve")[];
  /** Events and their deliveries, oldest first. */
  readonly events: readonly FlowEvent[];
  readonly graph: Graph;
}
export interface FlowEvent {
  readonly id: string;
  readonly name: string;
  readonly handler: string | null;
  readonly status: OutboxStatus;
  readonly attempts: number;
  readonly at: Instant;
  readonly lastError: string | null;
  readonly data: Masked | null;
  /** On the event itself: POST api/outbox/{id}/… */
  readonly actions: readonly ("retry" | "resolve")[];
}

// GET api/webhooks/subscriptions?q=&status=&limit=&after=
// GET api/webhooks/subscriptions/{id}
// POST api/webhooks/subscriptions/{id}/pause, /enable with an ActionNote: answers with the Subscription.
// POST api/webhooks/subscriptions/{id}/unsubscribe with an ActionNote: dismisses its dead letters, answers with an Unsubscribed.
// POST api/webhooks/subscriptions/{id}/resend with a ResendAction: answers with a Resent.
export type SubscriptionStatus = "Active" | "Paused" | "Disabled" | "Deleted";
export interface Subscription {
  readonly id: string;
  /** Without query and credentials. */
  readonly url: string;
  readonly description: string | null;
  readonly status: SubscriptionStatus;
  readonly reason: string | null;
  readonly events: readonly string[];
  readonly attempts: number | null;
  readonly concurrency: number;
  readonly ordered: boolean;
  readonly liveSecrets: number;
  readonly failingSince: Instant | null;
  readonly failures: number;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  readonly actions: readonly ("pause" | "enable" | "unsubscribe" | "resend")[];
}
/** The subscription that ended, and how many of its open dead letters were dismissed with it. */
export interface Unsubscribed extends Subscription {
  readonly dismissed: number;
}
/** What a delivery shows of its subscription. */
export interface SubscriptionBrief {
  readonly id: string;
  /** Its description, or else its address without query and credentials. */
  readonly name: string;
  readonly status: SubscriptionStatus;
  /** It was disabled because its endpoint answered 410: no delivery can succeed there. */
  readonly gone: boolean;
}
export interface ResendAction extends ActionNote {
  readonly since: Instant;
}
export interface Resent {
  readonly deliveries: number;
}

// GET api/webhooks/deliveries?subscription=&status=A,B&event=&limit=&after=
// GET api/webhooks/deliveries/{id}
// POST api/webhooks/deliveries/{id}/resend with a ResendDelivery: answers with the new DeliveryDetail. A disabled subscription
// would end it at once: it is refused with 409 SUBSCRIPTION_DISABLED, unless `enable` says to enable the subscription first.
// POST api/webhooks/deliveries/{id}/dismiss with an ActionNote: answers with the DeliveryDetail.
export type DeliveryStatus = "Pending" | "InProgress" | "PendingRetry" | "Completed" | "DeadLettered";
export interface DeliveryLine {
  readonly id: string;
  readonly eventId: string;
  readonly eventType: string;
  readonly subscriptionId: string;
  readonly subscription: SubscriptionBrief;
  readonly url: string;
  readonly status: DeliveryStatus;
  readonly attemptCount: number;
  readonly nextAttemptAt: Instant | null;
  readonly errorCode: string | null;
  readonly generation: number;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
}
export interface DeliveryDetail extends DeliveryLine {
  readonly payload: Masked;
  readonly requeuedFrom: string | null;
  readonly requeuedAs: string | null;
  /** Of its dead letter; null where there is none. */
  readonly deadLetter: "Open" | "Requeued" | "Dismissed" | null;
  readonly actions: readonly ("resend" | "dismiss")[];
  /** Oldest first. */
  readonly attempts: readonly Attempt[];
}
export interface ResendDelivery extends ActionNote {
  /** Enable the subscription first, if it is disabled. */
  readonly enable?: boolean;
}
export interface Attempt {
  readonly id: string;
  readonly at: Instant;
  readonly ok: boolean;
  readonly verdict: "accepted" | "repeated" | "late" | "foreign";
  readonly code: string;
  readonly httpStatus: number | null;
  readonly durationMs: number;
  readonly response: Masked | null;
}
