/** Every state that an item can be in: its label, its colour, its icon, and what it means. One table, read everywhere. */
import type { SagaLine, SagaStatus } from "../../../src/console/contract.ts";
import type {
  DeliveryStatus,
  FlowStatus,
  OutboxStatus,
  ScheduleStatus,
  ScheduleTick,
  SubscriptionStatus,
} from "../../../src/console/contract-parts.ts";
import type { IconName } from "../parts/icon.tsx";

export type Tone = "sea" | "copper" | "rose" | "sky" | "stone";

export interface Look {
  readonly word: string;
  readonly tone: Tone;
  /** Without one it pulses: work is in progress. */
  readonly icon: IconName | undefined;
  readonly meaning: string;
}

const look = (word: string, tone: Tone, icon: IconName | undefined, meaning: string): Look => ({
  word,
  tone,
  icon,
  meaning,
});

/** Sagas in these states have ended. */
export const ENDED: ReadonlySet<string> = new Set(["COMPLETED", "FAILED"]);

export const sagaLooks: Readonly<Record<SagaStatus, Look>> = {
  STALLED: look("Stalled", "rose", "alert", "It cannot continue by itself and needs an operator."),
  COMPENSATING: look(
    "Compensating",
    "copper",
    undefined,
    "A step failed, and its completed steps are being undone.",
  ),
  RUNNING: look("Running", "sky", undefined, "Its steps are running."),
  PENDING: look("Pending", "stone", "clock", "It waits for a worker, a time or a signal."),
  COMPLETED: look("Completed", "sea", "check", "Every step is done."),
  FAILED: look("Rolled back", "copper", "undo", "FAILED: it failed, and all of its effects were undone."),
};

const scheduled = look(
  "Scheduled",
  "stone",
  "clock",
  "It is recorded, and runs at the time that its start named.",
);

/** A saga that was started for later is PENDING, and no worker may take it yet. */
export function sagaLook({ status, isScheduled }: Pick<SagaLine, "status" | "isScheduled">): Look {
  return isScheduled ? scheduled : lookOf(sagaLooks, status);
}
export const scheduleLooks: Readonly<Record<ScheduleStatus, Look>> = {
  active: look("Active", "sea", "check", "Each of its ticks starts a saga."),
  paused: look("Paused", "stone", "pause", "An operator paused it: it does not tick."),
};

export const tickLooks: Readonly<Record<ScheduleTick["outcome"], Look>> = {
  started: look("Started", "sea", "check", "The saga was started; retention has removed it since."),
  skipped: look("Skipped", "copper", "skip", "The saga of an earlier tick was open."),
  missed: look("Missed", "rose", "cross", "No worker that has the saga ran at this time."),
};

export const outboxLooks: Readonly<Record<OutboxStatus, Look>> = {
  abandoned: look(
    "Abandoned",
    "rose",
    "alert",
    "All attempts failed, or the error is permanent: it needs an operator.",
  ),
  failed: look("Retrying", "copper", "retry", "The last attempt failed; another one follows."),
  in_flight: look("In flight", "sky", undefined, "A worker is making the call."),
  pending: look("Pending", "stone", "clock", "It waits for a worker."),
  scheduled: look(
    "Scheduled",
    "stone",
    "clock",
    "The other system deletes the data later; that is verified then.",
  ),
  succeeded: look("Succeeded", "sea", "check", "The other system confirmed it."),
  superseded: look("Superseded", "stone", "skip", "A newer entry replaced it."),
};

const unrouted = look(
  "No subscriber",
  "stone",
  "check",
  "No handler subscribes to this event: nothing is left to do. It is kept for handlers that are added later.",
);

/** The states of entries as the list of the outbox tells them apart. */
export const entryLooks: Readonly<Record<string, Look>> = { ...outboxLooks, unrouted };

/** An event without a subscriber waits for nothing. */
export function entryLook({ kind, status }: { readonly kind: string; readonly status: string }): Look {
  return kind === "event" && status === "pending" ? unrouted : lookOf(outboxLooks, status);
}

/** The same for an event of a flow: a row for a handler names it, the row of the event itself does not. */
export function eventLook(event: { readonly handler: string | null; readonly status: string }): Look {
  return entryLook({ kind: event.handler === null ? "event" : "delivery", status: event.status });
}

export const flowLooks: Readonly<Record<FlowStatus, Look>> = {
  stalled: look("Stalled", "rose", "alert", "An undo failed permanently: it needs an operator."),
  compensating: look(
    "Compensating",
    "copper",
    undefined,
    "A step failed, and its completed steps are being undone.",
  ),
  running: look("Running", "sky", undefined, "Its events are being handled."),
  completed: look("Completed", "sea", "check", "Every step was answered with its success event."),
  failed: look(
    "Rolled back",
    "copper",
    "undo",
    "failed: a step failed, and the steps before it were undone.",
  ),
};

export const deliveryLooks: Readonly<Record<DeliveryStatus, Look>> = {
  DeadLettered: look("Dead letter", "rose", "alert", "All attempts failed: it needs an operator."),
  PendingRetry: look("Retrying", "copper", "retry", "The last attempt failed; another one follows."),
  InProgress: look("Sending", "sky", undefined, "A worker is sending it."),
  Pending: look("Pending", "stone", "clock", "It waits for a worker."),
  Completed: look("Delivered", "sea", "check", "The endpoint accepted it."),
};

export const subscriptionLooks: Readonly<Record<SubscriptionStatus, Look>> = {
  Active: look("Active", "sea", "check", "Events are sent to it."),
  Paused: look("Paused", "stone", "pause", "An operator paused it; deliveries wait."),
  Disabled: look("Disabled", "rose", "alert", "It failed for too long, or answered 410: nothing is sent."),
  Deleted: look("Deleted", "stone", "cross", "It is kept for the record only."),
};

/** A newer server may know states that this page does not. */
export function lookOf(looks: Readonly<Record<string, Look>>, status: string): Look {
  return (
    looks[status] ?? look(status, "stone", "dots", "This page does not know this state. Reload the page.")
  );
}
