/** One item that needs a person, whatever its part: what it is, why, since when, and what a person may do about it. */
import type { FlowFailure } from "../core/flow/state.ts";
import type { OutboxOperation } from "../core/outbox/entry.ts";
import type { BlockingEntry } from "../erasure/overdue.ts";
import type { SagaFailure, UndoFailure } from "../sagas/view/outcome.ts";
import type { SubscriptionBrief } from "../webhooks/read/subscription-brief.ts";

/** The kinds of items. Of two items of one instant, the one whose kind stands first here is listed first. */
export const ATTENTION_KINDS = [
  "stalled-saga",
  "stalled-run",
  "abandoned-entry",
  "abandoned-call",
  "abandoned-event",
  "dead-letter",
  "disabled-subscription",
  "overdue-erasure",
] as const;

/** What an item is. */
export type AttentionKind = (typeof ATTENTION_KINDS)[number];

/** What a person may do. An action has this name in code, in the HTTP API, in the console, on the command line and in the audit. */
export type AttentionAction =
  | "retry"
  | "skip"
  | "resolve"
  | "cancel"
  | "requeue"
  | "resend"
  | "dismiss"
  | "enable"
  | "unsubscribe";

/** What every item has. */
export interface AttentionFacts<Kind extends AttentionKind = AttentionKind> {
  /** What it is. */
  readonly kind: Kind;
  /** The id that the actions take. */
  readonly id: string;
  /** The name of the saga, the resolver, the call, the event's type, or the description or address of the subscription. */
  readonly name: string;
  /** Since when: the list is ordered by it. An abandoned entry counts from when it was enqueued. */
  readonly since: Date;
  /** What is wrong, in words for people. */
  readonly reason: string;
  /** What may be done about it now. */
  readonly actions: readonly AttentionAction[];
}

/** A saga that cannot go on by itself. */
export interface StalledSagaItem extends AttentionFacts<"stalled-saga"> {
  /** Why the saga turned back, where it did. */
  readonly error: SagaFailure | undefined;
  /** The undos that failed. */
  readonly undoErrors: readonly UndoFailure[];
  /** Steps that may be skipped. */
  readonly skippable: readonly string[];
}

/** A run of a saga over events that could not undo one of its steps. */
export interface StalledRunItem extends AttentionFacts<"stalled-run"> {
  /** The process that the run belongs to. */
  readonly processId: string;
  /** The step whose undo failed. */
  readonly step: string | undefined;
  /** Why the run turned back. */
  readonly error: FlowFailure | undefined;
}

/** An erasure or a rectification in another system that was given up. */
export interface AbandonedEntryItem extends AttentionFacts<"abandoned-entry"> {
  /** Whose data it is about. */
  readonly subjectId: string;
  /** Whether the data was to be erased or corrected. */
  readonly operation: OutboxOperation;
  /** How often it was tried. */
  readonly attempts: number;
  /** A label, never a message. */
  readonly error: string;
}

/** A call of your own that was given up. */
export interface AbandonedCallItem extends AttentionFacts<"abandoned-call"> {
  /** How often it was tried. */
  readonly attempts: number;
  /** A label, never a message. */
  readonly error: string;
}

/** An event that cannot be read, that broke a contract, or whose handler used up its tries. */
export interface AbandonedEventItem extends AttentionFacts<"abandoned-event"> {
  /** Undefined where the event could not be routed to a handler. */
  readonly handler: string | undefined;
  /** The run that waits for it. */
  readonly sagaId: string | undefined;
  /** How often it was tried. */
  readonly attempts: number;
  /** A label, never a message. */
  readonly error: string;
}

/** A webhook delivery that was given up. Its id is that of the delivery. */
export interface DeadLetterItem extends AttentionFacts<"dead-letter"> {
  /** The subscription that did not get the event. */
  readonly subscription: SubscriptionBrief;
  /** The event that was published. */
  readonly eventId: string;
  /** How often it was sent. */
  readonly attempts: number;
  /** The error code of the last attempt. */
  readonly error: string;
}

/** A webhook subscription that was disabled, because its endpoint kept failing or is gone. */
export interface DisabledSubscriptionItem extends AttentionFacts<"disabled-subscription"> {
  /** The subscription itself. */
  readonly subscription: SubscriptionBrief;
  /** `failing`, or the error code of the attempt that ended it. */
  readonly error: string;
}

/** An erasure that is not complete although its legal deadline has passed. Its id is the subject's. */
export interface OverdueErasureItem extends AttentionFacts<"overdue-erasure"> {
  /** When the erasure was asked for. */
  readonly requestedAt: Date;
  /** The entries of the outbox that it waits for. */
  readonly blocking: readonly BlockingEntry[];
}

/** One item that needs a person. Its `kind` says which of these it is. */
export type AttentionItem =
  | StalledSagaItem
  | StalledRunItem
  | AbandonedEntryItem
  | AbandonedCallItem
  | AbandonedEventItem
  | DeadLetterItem
  | DisabledSubscriptionItem
  | OverdueErasureItem;
