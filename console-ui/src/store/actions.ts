/**
 * What a person can do, as a table: what it is called, what will happen, what it asks for. The server decides which
 * of them a thing allows; this only says them well. Each needs a reason, which is audited.
 */
import { signal, type ReadonlySignal } from "@preact/signals";
import type { Topic } from "./live.ts";
import type { IconName } from "../parts/icon.tsx";

export type TargetKind = "saga" | "entry" | "flow" | "subscription" | "delivery";

export interface Target {
  readonly kind: TargetKind;
  readonly id: string;
  /** As people know it. */
  readonly name: string;
  readonly version?: number;
  readonly skippable?: readonly string[];
}

export interface ActionSpec {
  readonly verb: string;
  readonly icon: IconName;
  readonly title: string;
  readonly explain: string;
  readonly done: string;
  readonly danger?: true;
  /** What it asks for beside the reason. */
  readonly asks?: "step" | "ending" | "since";
  readonly reasons: readonly string[];
}

const specs: Readonly<Record<`${TargetKind}.${string}`, ActionSpec>> = {
  "saga.retry": {
    verb: "Retry",
    icon: "retry",
    title: "Retry this saga",
    explain:
      "A worker takes it up where it stopped, with a fresh budget of tries. Steps that are done stay done.",
    done: "The saga goes on.",
    reasons: ["The other system is back", "The cause is fixed"],
  },
  "saga.skip": {
    verb: "Skip a step",
    icon: "skip",
    title: "Skip a step",
    explain:
      "The step counts as settled and is not called again. Do this when you have settled it by hand, or when it does not matter.",
    done: "The step was skipped.",
    asks: "step",
    reasons: ["Settled by hand", "No longer needed"],
  },
  "saga.resolve": {
    verb: "Resolve by hand",
    icon: "resolve",
    title: "Resolve this saga by hand",
    explain:
      "The saga ends as you say, and no further step or undo is called. Be sure that the outside world agrees.",
    done: "The saga has ended.",
    danger: true,
    asks: "ending",
    reasons: ["Settled by hand with the provider", "Refunded in the provider's dashboard"],
  },
  "saga.cancel": {
    verb: "Cancel",
    icon: "stop",
    title: "Cancel this saga",
    explain: "It stops going forward and undoes what was done, in reverse order.",
    done: "The saga turns back.",
    danger: true,
    reasons: ["The customer asked for it", "Started by mistake"],
  },
  "entry.requeue": {
    verb: "Requeue",
    icon: "retry",
    title: "Requeue this entry",
    explain: "It is tried again from the first attempt, under the same idempotency key.",
    done: "The entry is due again.",
    reasons: ["The other system is back", "The cause is fixed"],
  },
  "entry.retry": {
    verb: "Retry",
    icon: "retry",
    title: "Retry this event",
    explain: "It goes to its handler again, with a fresh budget of tries.",
    done: "The event is due again.",
    reasons: ["The cause is fixed", "The version that understands it is deployed"],
  },
  "entry.resolve": {
    verb: "Resolve by hand",
    icon: "resolve",
    title: "Resolve this event by hand",
    explain:
      "It is done with and goes to no handler any more. Where a flow waits for it, that step counts as failed, and the flow undoes what was done.",
    done: "The event is done with.",
    danger: true,
    reasons: ["Settled by hand", "No longer needed"],
  },
  "flow.retry": {
    verb: "Retry",
    icon: "retry",
    title: "Retry this flow",
    explain: "The undo that failed is asked for again.",
    done: "The flow goes on.",
    reasons: ["The cause is fixed"],
  },
  "flow.resolve": {
    verb: "Resolve by hand",
    icon: "resolve",
    title: "Resolve this flow by hand",
    explain:
      "The undo that failed counts as done, and the flow goes on with what is left to undo. Be sure that you have undone it.",
    done: "The flow goes on without it.",
    danger: true,
    reasons: ["Undone by hand"],
  },
  "subscription.pause": {
    verb: "Pause",
    icon: "pause",
    title: "Pause this subscription",
    explain: "Nothing is sent until it is enabled again. Deliveries wait; none is lost.",
    done: "The subscription is paused.",
    reasons: ["The partner is under maintenance"],
  },
  "subscription.enable": {
    verb: "Enable",
    icon: "play",
    title: "Enable this subscription",
    explain: "Deliveries that wait are sent, and new events are routed to it.",
    done: "The subscription is active.",
    reasons: ["The endpoint is back", "The partner has confirmed"],
  },
  "subscription.unsubscribe": {
    verb: "Unsubscribe",
    icon: "cross",
    title: "Unsubscribe this endpoint",
    explain: "It receives nothing any more. What was delivered stays on record. This cannot be taken back.",
    done: "The subscription has ended.",
    danger: true,
    reasons: ["The partner has left"],
  },
  "subscription.resend": {
    verb: "Resend since …",
    icon: "retry",
    title: "Resend everything since an instant",
    explain: "Each event since then is delivered again as a new delivery, with the same webhook-id.",
    done: "Deliveries were made.",
    asks: "since",
    reasons: ["The partner has lost data"],
  },
  "delivery.resend": {
    verb: "Resend",
    icon: "retry",
    title: "Resend this delivery",
    explain:
      "A new delivery of the same event is made, with the same webhook-id and a fresh budget of tries.",
    done: "A new delivery was made.",
    reasons: ["The endpoint is back", "The partner asked for it"],
  },
  "delivery.dismiss": {
    verb: "Dismiss",
    icon: "check",
    title: "Dismiss this dead letter",
    explain: "It leaves the attention list and is not sent again. It stays on record.",
    done: "The dead letter was dismissed.",
    danger: true,
    reasons: ["No longer needed", "Settled with the partner"],
  },
};

export function specOf(kind: TargetKind, action: string): ActionSpec | undefined {
  return specs[`${kind}.${action}`];
}

const paths: Readonly<Record<TargetKind, string>> = {
  saga: "sagas",
  entry: "outbox",
  flow: "flows",
  subscription: "webhooks/subscriptions",
  delivery: "webhooks/deliveries",
};

export function actionPath({ kind, id }: Target, action: string): string {
  return `${paths[kind]}/${encodeURIComponent(id)}/${action}`;
}

/** What an action makes out of date. */
export const touches: Readonly<Record<TargetKind, readonly Topic[]>> = {
  saga: ["sagas", "watched", "attention", "audit", "overview"],
  entry: ["outbox", "erasures", "flows", "attention", "audit", "overview"],
  flow: ["flows", "attention", "audit", "overview"],
  subscription: ["webhooks", "attention", "audit", "overview"],
  delivery: ["webhooks", "attention", "audit", "overview"],
};

export interface Asked {
  readonly target: Target;
  readonly action: string;
  readonly spec: ActionSpec;
  /** Gets the server's answer. */
  readonly onDone: ((answer: unknown) => void) | undefined;
}

const open = signal<Asked | undefined>(undefined);
export const asked: ReadonlySignal<Asked | undefined> = open;

export function ask(target: Target, action: string, onDone?: (answer: unknown) => void): void {
  const spec = specOf(target.kind, action);
  if (spec) open.value = { target, action, spec, onDone };
}

export function closeAsked(): void {
  open.value = undefined;
}
