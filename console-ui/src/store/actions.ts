/**
 * What an operator can do, as a table: its label, what it does, what it asks for. The server decides which actions an
 * item allows; this table describes them. Each action needs a reason, which is audited.
 */
import { signal, type ReadonlySignal } from "@preact/signals";
import type { SubscriptionBrief } from "../../../src/console/contract-parts.ts";
import type { IconName } from "../parts/icon.tsx";
import type { Topic } from "./live.ts";

export type TargetKind =
  | "saga"
  | "sagas"
  | "calls"
  | "schedule"
  | "entry"
  | "flow"
  | "subscription"
  | "delivery"
  | "bulk"
  | "handler";

export interface Target {
  readonly kind: TargetKind;
  readonly id: string;
  readonly name: string;
  readonly revision?: number;
  /** Of a saga: the steps that may be skipped, and whether their acts or their undos failed. */
  readonly skippable?: readonly string[];
  readonly skips?: "act" | "undo" | undefined;
  /** Of an outbox entry: `erasure`, `event`, `delivery` or `call`. */
  readonly entryKind?: string;
  readonly subscription?: SubscriptionBrief | undefined;
  /** Why it needs an operator: the dialog repeats it. */
  readonly reason?: string | undefined;
}

export interface ActionSpec {
  readonly label: string;
  readonly icon: IconName;
  readonly title: string;
  readonly explain: string;
  /** Follows the name of the target in the toast. */
  readonly started: string;
  /** It cannot be taken back. */
  readonly danger?: true;
  /** What it asks for beside the reason. */
  readonly asks?: "step" | "undo" | "outcome" | "since";
  readonly reasons: readonly string[];
  readonly reasonHint?: string;
  /** Sent along with the reason. */
  readonly body?: Readonly<Record<string, unknown>>;
}

type Spec = ActionSpec | ((target: Target) => ActionSpec);

const BACK = ["The other system is available again", "The cause is fixed"];
const MAINTENANCE = ["The other system is under maintenance"];
const BY_HAND = ["Done by hand", "No longer needed"];

const skipAct: ActionSpec = {
  label: "Skip step",
  icon: "skip",
  title: "Skip a step",
  explain: "The step is marked as done without running it. Do its work by hand first.",
  started: "step skipped",
  asks: "step",
  reasons: BY_HAND,
};

const skipUndo = ({ skippable = [] }: Target): ActionSpec => {
  const [only, ...others] = skippable;
  const step = only !== undefined && others.length === 0 ? only : "a step";
  return {
    label: "Skip undo",
    icon: "skip",
    title: `Skip the undo of ${step}`,
    explain: `Amends records the undo of ${step} as done without calling it. If its effect was not reverted by other means, it stays: a payment that was not refunded stays taken.`,
    started: "undo skipped",
    danger: true,
    asks: "undo",
    reasons: ["Undone by hand in the other system", "Refunded in the provider’s dashboard"],
  };
};

const resolveErasure = ({ name }: Target): ActionSpec => ({
  label: "Resolve",
  icon: "resolve",
  title: "Confirm this request by hand",
  explain: `Amends records the request as carried out in ${name} without calling it. Do this only with evidence: the reason becomes part of the data subject’s audit trail.`,
  started: "confirmed by hand",
  danger: true,
  reasons: ["The provider confirmed it in writing", "The system no longer exists"],
  reasonHint: "Evidence: who confirmed it, when, and where that is filed",
});

const resolveEvent: ActionSpec = {
  label: "Resolve",
  icon: "resolve",
  title: "Resolve this event by hand",
  explain:
    "The event is closed and goes to no handler. If a flow waits for it, that step counts as failed and the flow rolls back.",
  started: "resolved",
  danger: true,
  reasons: BY_HAND,
};

const resend = ({ subscription }: Target): ActionSpec => {
  const base = {
    icon: "retry",
    started: "resend started",
    reasons: ["The endpoint is available again", "The partner asked for it"],
  } as const;
  const again =
    "A new delivery of the same event is made, with the same webhook-id and a new set of attempts.";
  if (subscription?.status !== "Disabled")
    return { ...base, label: "Resend", title: "Resend this delivery", explain: again };
  const warning = subscription.gone
    ? ` Its endpoint answered 410 (gone): unless it was restored, the delivery fails and the subscription is disabled again.`
    : "";
  return {
    ...base,
    label: "Enable and resend",
    title: "Enable the subscription and resend",
    explain: `The subscription ${subscription.name} is disabled, so it is enabled first. ${again}${warning}`,
    body: { enable: true },
  };
};

const enable = ({ subscription }: Target): ActionSpec => ({
  label: "Enable",
  icon: "play",
  title: "Enable this subscription",
  explain: `Waiting deliveries are sent, and new events are routed to it.${
    subscription?.gone
      ? " Its endpoint answered 410 (gone): unless it was restored, the next delivery disables the subscription again."
      : ""
  }`,
  started: "enabled",
  reasons: ["The endpoint is available again", "The partner has confirmed"],
});

const specs: Readonly<Record<`${TargetKind}.${string}`, Spec>> = {
  "saga.retry": ({ skips, skippable = [] }) => ({
    label: "Retry",
    icon: "retry",
    title: "Retry this saga",
    explain:
      skips === "undo" && skippable.length > 0
        ? `A worker calls the undo of ${skippable.join(", ")} again, with a new set of attempts. Completed undos are not repeated.`
        : "A worker resumes at the failed step with a new set of attempts. Completed steps are not repeated.",
    started: "retry started",
    reasons: BACK,
  }),
  "saga.skip": (target) => (target.skips === "undo" ? skipUndo(target) : skipAct),
  "saga.resolve": {
    label: "Resolve",
    icon: "resolve",
    title: "Resolve this saga by hand",
    explain:
      "The saga ends with the outcome that you choose. No further step or undo is called: make sure the external systems match.",
    started: "resolved",
    danger: true,
    asks: "outcome",
    reasons: ["Settled by hand with the provider", "Refunded in the provider’s dashboard"],
  },
  "saga.cancel": {
    label: "Cancel",
    icon: "stop",
    title: "Cancel this saga",
    explain: "The saga stops, and its completed steps are undone, the last one first.",
    started: "cancelling, rolling back",
    danger: true,
    reasons: ["The customer asked for it", "Started by mistake"],
  },
  "saga.reverse": {
    label: "Take back",
    icon: "stop",
    title: "Take back this completed saga",
    explain:
      "Another saga calls the undos of its steps, the last one first, under their usual keys. This saga stays completed, and names the other one.",
    started: "taken back by another saga",
    danger: true,
    reasons: ["The customer sent it back", "Ordered by mistake"],
  },
  "saga.pause": {
    label: "Pause",
    icon: "pause",
    title: "Pause this saga",
    explain:
      "What runs finishes its step. Nothing else of it begins until it is resumed; signals, events and a cancel are kept, and time goes on.",
    started: "paused",
    reasons: MAINTENANCE,
  },
  "saga.resume": {
    label: "Resume",
    icon: "play",
    title: "Resume this saga",
    explain:
      "A worker takes it, and it goes on from where it stands. A deadline that has passed is acted on.",
    started: "resumed",
    reasons: BACK,
  },
  "sagas.pause": ({ name }) => ({
    label: `Pause all ${name}`,
    icon: "pause",
    title: `Pause all sagas ${name}`,
    explain:
      "What runs finishes its step and is given back. Sagas of this name are still started, and wait until the name is resumed.",
    started: "paused",
    reasons: MAINTENANCE,
  }),
  "sagas.resume": ({ name }) => ({
    label: "Resume",
    icon: "play",
    title: `Resume the sagas ${name}`,
    explain: "Workers take them at once. A saga that was paused by itself stays paused.",
    started: "resumed",
    reasons: BACK,
  }),
  "calls.pause": ({ name }) => ({
    label: `Pause all ${name}`,
    icon: "pause",
    title: `Pause all calls ${name}`,
    explain:
      "A call that runs finishes. Calls of this name are still enqueued, and wait until the name is resumed.",
    started: "paused",
    reasons: MAINTENANCE,
  }),
  "calls.resume": ({ name }) => ({
    label: "Resume",
    icon: "play",
    title: `Resume the calls ${name}`,
    explain: "Workers make them at once, the oldest first.",
    started: "resumed",
    reasons: BACK,
  }),
  "schedule.pause": {
    label: "Pause",
    icon: "pause",
    title: "Pause this schedule",
    explain: "It does not tick until it is resumed. Its open sagas go on.",
    started: "paused",
    reasons: ["The other system is under maintenance"],
  },
  "schedule.resume": {
    label: "Resume",
    icon: "play",
    title: "Resume this schedule",
    explain: "It ticks again from now on. Ticks that passed meanwhile are not made up for.",
    started: "resumed",
    reasons: BACK,
  },
  "schedule.run": {
    label: "Run now",
    icon: "play",
    title: "Run this schedule now",
    explain: "A worker that has the saga starts it at once. The ticks of the schedule stay as they are.",
    started: "run asked for",
    reasons: ["The last tick failed", "The last tick was missed"],
  },
  "schedule.remove": {
    label: "Remove",
    icon: "cross",
    title: "Remove this schedule",
    explain:
      "It does not tick any more, and the record of its ticks goes with it. Its open sagas go on. An application that puts it at its start brings it back.",
    started: "removed",
    danger: true,
    reasons: ["No longer needed", "Replaced by another schedule"],
  },
  "entry.requeue": {
    label: "Requeue",
    icon: "retry",
    title: "Requeue this entry",
    explain: "The call is made again with a new set of attempts, under the same idempotency key.",
    started: "queued for another attempt",
    reasons: BACK,
  },
  "entry.retry": {
    label: "Retry",
    icon: "retry",
    title: "Retry this event",
    explain: "The event goes to its handler again, with a new set of attempts.",
    started: "retry started",
    reasons: ["The cause is fixed", "A version that can read it is deployed"],
  },
  "entry.resolve": (target) => (target.entryKind === "erasure" ? resolveErasure(target) : resolveEvent),
  "flow.retry": {
    label: "Retry",
    icon: "retry",
    title: "Retry this flow",
    explain: "The failed undo is requested again.",
    started: "retry started",
    reasons: ["The cause is fixed"],
  },
  "flow.resolve": {
    label: "Resolve",
    icon: "resolve",
    title: "Resolve this flow by hand",
    explain:
      "The failed undo is marked as done, and the flow continues with the remaining undos. Make sure that you undid it by hand.",
    started: "resolved, rolling back the rest",
    danger: true,
    reasons: ["Undone by hand"],
  },
  "subscription.pause": {
    label: "Pause",
    icon: "pause",
    title: "Pause this subscription",
    explain: "Nothing is sent until the subscription is enabled again. Deliveries wait; none is lost.",
    started: "paused",
    reasons: ["The partner is under maintenance"],
  },
  "subscription.enable": enable,
  "subscription.unsubscribe": {
    label: "Unsubscribe",
    icon: "cross",
    title: "Unsubscribe this endpoint",
    explain:
      "It receives nothing any more, and its open dead letters are dismissed. Past deliveries stay on record. This cannot be undone.",
    started: "unsubscribed",
    danger: true,
    reasons: ["The partner has left", "The endpoint is gone for good"],
  },
  "subscription.resend": {
    label: "Resend since …",
    icon: "retry",
    title: "Resend all since …",
    explain: "Each event since then is delivered again as a new delivery, with the same webhook-id.",
    started: "resend started",
    asks: "since",
    reasons: ["The partner has lost data"],
  },
  "bulk.stop": {
    label: "Stop",
    icon: "stop",
    title: "Stop this bulk action",
    explain: "The page under way, at most 50 items, is still carried out. What was carried out stays so.",
    started: "stopping",
    danger: true,
    reasons: ["The other system is down again", "Started by mistake"],
  },
  "bulk.repeat": {
    label: "Repeat",
    icon: "retry",
    title: "Repeat this bulk action",
    explain:
      "Another bulk action takes what this one has left: the items that its filter finds now, or those of its list that were not carried out.",
    started: "repeated",
    reasons: BACK,
  },
  "handler.retire": {
    label: "Retire",
    icon: "cross",
    title: "Retire this handler",
    explain:
      "It gets no further events, and the events that wait for it are not handled. A process that has the handler registers it anew. This cannot be undone.",
    started: "retired",
    danger: true,
    reasons: ["Removed from the code", "Renamed", "The service is gone"],
  },
  "delivery.resend": resend,
  "delivery.dismiss": {
    label: "Dismiss",
    icon: "check",
    title: "Dismiss this dead letter",
    explain: "It leaves the attention list and is not sent again. It stays on record.",
    started: "dismissed",
    danger: true,
    reasons: ["No longer needed", "Settled with the partner"],
  },
};

export function specOf(target: Target, action: string): ActionSpec | undefined {
  const spec = specs[`${target.kind}.${action}`];
  return typeof spec === "function" ? spec(target) : spec;
}

const paths: Readonly<Record<TargetKind, string>> = {
  saga: "sagas",
  sagas: "paused/sagas",
  calls: "paused/calls",
  schedule: "schedules",
  entry: "outbox",
  flow: "flows",
  subscription: "webhooks/subscriptions",
  delivery: "webhooks/deliveries",
  bulk: "bulk",
  handler: "handlers",
};

/** Of the API. The pages have the same paths behind `#/`. */
export function pathOf(kind: TargetKind, id: string): string {
  return `${paths[kind]}/${encodeURIComponent(id)}`;
}

/** As a toast and a dialog name it. */
export function labelOf({ kind, id, name, subscription }: Target): string {
  if (kind === "saga") return `${name} ${id}`;
  if (kind === "sagas" || kind === "calls") return `${kind} ${name}`;
  return kind === "delivery" && subscription ? `${name} → ${subscription.name}` : name;
}

/** What an action makes out of date. */
export const touches: Readonly<Record<TargetKind, readonly Topic[]>> = {
  saga: ["sagas", "watched", "attention", "audit", "overview"],
  sagas: ["sagas", "watched", "audit", "overview"],
  calls: ["outbox", "audit", "overview"],
  schedule: ["schedules", "attention", "audit", "overview"],
  handler: ["attention", "audit", "overview"],
  entry: ["outbox", "erasures", "flows", "attention", "audit", "overview"],
  flow: ["flows", "attention", "audit", "overview"],
  subscription: ["webhooks", "attention", "audit", "overview"],
  delivery: ["webhooks", "attention", "audit", "overview"],
  bulk: ["sagas", "outbox", "webhooks", "attention", "audit", "overview"],
};

export interface OpenedAction {
  readonly target: Target;
  readonly action: string;
  readonly spec: ActionSpec;
  /** Gets the server's answer. */
  readonly onDone: ((answer: unknown) => void) | undefined;
}

const opened = signal<OpenedAction | undefined>(undefined);
/** The action whose dialog is open. */
export const openedAction: ReadonlySignal<OpenedAction | undefined> = opened;

export function openAction(target: Target, action: string, onDone?: (answer: unknown) => void): void {
  const spec = specOf(target, action);
  if (spec) opened.value = { target, action, spec, onDone };
}

export function closeAction(): void {
  opened.value = undefined;
}
