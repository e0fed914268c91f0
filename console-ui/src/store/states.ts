/** Every state that anything can be in: its word, its colour, its shape, and what it meaning. One table, read everywhere. */
import type { SagaStatus } from "../../../src/console/contract.ts";
import type {
  DeliveryStatus,
  FlowStatus,
  OutboxStatus,
  SubscriptionStatus,
} from "../../../src/console/contract-parts.ts";
import type { IconName } from "../parts/icon.tsx";

export type Tone = "sea" | "copper" | "rose" | "sky" | "stone";

export interface Look {
  readonly word: string;
  readonly tone: Tone;
  /** Without one it breathes: work is under way. */
  readonly icon: IconName | undefined;
  readonly meaning: string;
}

const look = (word: string, tone: Tone, icon: IconName | undefined, meaning: string): Look => ({
  word,
  tone,
  icon,
  meaning,
});

export const sagaLooks: Readonly<Record<SagaStatus, Look>> = {
  STALLED: look("Stalled", "rose", "alert", "It cannot go on by itself and waits for a person."),
  COMPENSATING: look("Compensating", "copper", undefined, "It turned back and is undoing what was done."),
  RUNNING: look("Running", "sky", undefined, "Its steps are under way."),
  PENDING: look("Pending", "stone", "clock", "It waits for a worker, a time or a signal."),
  COMPLETED: look("Completed", "sea", "check", "Every step is done."),
  FAILED: look(
    "Failed, undone",
    "copper",
    "undo",
    "It failed, and everything that may have happened was undone.",
  ),
};

export const outboxLooks: Readonly<Record<OutboxStatus, Look>> = {
  abandoned: look(
    "Abandoned",
    "rose",
    "alert",
    "Its tries are used up, or it cannot succeed: it waits for a person.",
  ),
  failed: look("Retrying", "copper", "retry", "The last try failed; it is tried again."),
  in_flight: look("In flight", "sky", undefined, "A worker is making the call now."),
  pending: look("Pending", "stone", "clock", "It waits for a worker."),
  scheduled: look(
    "Scheduled",
    "stone",
    "clock",
    "The other system deletes it at a later time; it is checked then.",
  ),
  succeeded: look("Succeeded", "sea", "check", "The other system has confirmed it."),
  superseded: look("Superseded", "stone", "skip", "A newer entry has taken its place."),
};

const unrouted = look(
  "No handler",
  "stone",
  "clock",
  "No process here has a handler for this event: it is kept until one does.",
);

/** An event that waits for nobody in particular is not late. */
export function entryLook({ kind, status }: { readonly kind: string; readonly status: string }): Look {
  return kind === "event" && status === "pending" ? unrouted : lookOf(outboxLooks, status);
}

export const flowLooks: Readonly<Record<FlowStatus, Look>> = {
  stalled: look("Stalled", "rose", "alert", "An undo has failed for good: it waits for a person."),
  compensating: look("Compensating", "copper", undefined, "It turned back and is undoing what was done."),
  running: look("Running", "sky", undefined, "Events are on their way from handler to handler."),
  completed: look("Completed", "sea", "check", "Every step was answered with its success event."),
  failed: look("Failed, undone", "copper", "undo", "A step failed, and those before it were undone."),
};

export const deliveryLooks: Readonly<Record<DeliveryStatus, Look>> = {
  DeadLettered: look("Dead letter", "rose", "alert", "Its tries are used up: it waits for a person."),
  PendingRetry: look("Retrying", "copper", "retry", "The last try failed; it is sent again."),
  InProgress: look("Sending", "sky", undefined, "A worker is sending it now."),
  Pending: look("Pending", "stone", "clock", "It waits for its turn."),
  Completed: look("Delivered", "sea", "check", "The endpoint has accepted it."),
};

export const subscriptionLooks: Readonly<Record<SubscriptionStatus, Look>> = {
  Active: look("Active", "sea", "check", "Events are sent to it."),
  Paused: look("Paused", "stone", "pause", "Somebody has paused it; events wait."),
  Disabled: look("Disabled", "rose", "alert", "It failed for too long, or answered 410: nothing is sent."),
  Deleted: look("Deleted", "stone", "cross", "It is kept for the record only."),
};

/** For a word that a newer server may know and this page does not. */
export function lookOf(looks: Readonly<Record<string, Look>>, status: string): Look {
  return looks[status] ?? look(status, "stone", "dots", "This page does not know this state: load it again.");
}
