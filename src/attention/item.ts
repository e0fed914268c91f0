/** An attention item of any part: what it is, why it needs a person, since when, and the allowed actions. */
import type { FlowFailure } from "../core/flow/state.ts";
import type { OutboxOperation } from "../core/outbox/entry.ts";
import type { BlockingEntry } from "../erasure/overdue.ts";
import type { SagaFailure, UndoFailure } from "../sagas/view/outcome.ts";
import type { SubscriptionBrief } from "../webhooks/read/subscription-brief.ts";

/** The kinds of attention items. Items of the same instant are listed in this order. */
export const ATTENTION_KINDS = [
  "stalled-saga",
  "failing-saga",
  "excluded-saga",
  "lost-saga",
  "stalled-run",
  "abandoned-entry",
  "abandoned-call",
  "abandoned-event",
  "dead-letter",
  "disabled-subscription",
  "overdue-erasure",
  "unserved-kind",
  "unserved-handler",
  "overdue-schedule",
  "refused-write",
] as const;

/** The kind of an attention item. */
export type AttentionKind = (typeof ATTENTION_KINDS)[number];

/**
 * What an operator may do. An action has this name in code, in the HTTP API, in the console, on the command line and in
 * the audit.
 */
export type AttentionAction =
  | "retry"
  | "skip"
  | "resolve"
  | "cancel"
  | "requeue"
  | "resend"
  | "dismiss"
  | "enable"
  | "unsubscribe"
  | "pause"
  | "remove"
  | "retire";

/** The fields of every attention item. */
export interface AttentionFacts<Kind extends AttentionKind = AttentionKind> {
  /** The kind of the item. */
  readonly kind: Kind;
  /** The id that the actions take. */
  readonly id: string;
  /** The name of the saga, the resolver, the call, the event's type or the part, or the description or address of the subscription. */
  readonly name: string;
  /**
   * Since when the item needs attention. The list is ordered by it. For an abandoned entry it is the time of its
   * enqueueing.
   */
  readonly since: Date;
  /** What is wrong, in words for operators. */
  readonly reason: string;
  /** The actions that are allowed now. */
  readonly actions: readonly AttentionAction[];
}

/** A stalled saga. */
export interface StalledSagaItem extends AttentionFacts<"stalled-saga"> {
  /** Why the saga compensates; undefined if it does not. */
  readonly error: SagaFailure | undefined;
  /** The compensations that failed. */
  readonly undoErrors: readonly UndoFailure[];
  /** Steps that may be skipped. */
  readonly skippable: readonly string[];
}

/** A saga whose step after the pivot has used up its attempts. It is tried again all the same. */
export interface FailingSagaItem extends AttentionFacts<"failing-saga"> {
  /** The step that fails. */
  readonly step: string | undefined;
  /** The number of attempts that failed. */
  readonly attempts: number;
  /** The label of the last error, never its message. */
  readonly error: string;
  /** Steps that may be skipped. */
  readonly skippable: readonly string[];
}

/** A saga that no worker claims, because `setRecoveryAttempts` of the storage contract excluded it. */
export interface ExcludedSagaItem extends AttentionFacts<"excluded-saga"> {
  /** The recovery attempts that were set. */
  readonly attempts: number;
}

/** A saga that the database has lost, as in a restore beside running workers: its log has lines, and its row is gone. */
export interface LostSagaItem extends AttentionFacts<"lost-saga"> {
  /** The number of lines that are left, counted up to 1,000. */
  readonly lines: number;
  /** The step that the last of them names. */
  readonly step: string | undefined;
}

/** A run of a saga over events that could not undo one of its steps. */
export interface StalledRunItem extends AttentionFacts<"stalled-run"> {
  /** The process that the run belongs to. */
  readonly processId: string;
  /** The step whose undo failed. */
  readonly step: string | undefined;
  /** Why the run compensates. */
  readonly error: FlowFailure | undefined;
}

/** An erasure or a rectification in another system that was abandoned. */
export interface AbandonedEntryItem extends AttentionFacts<"abandoned-entry"> {
  /** The id of the data subject. */
  readonly subjectId: string;
  /** Whether the data was to be erased or corrected. */
  readonly operation: OutboxOperation;
  /** The number of attempts. */
  readonly attempts: number;
  /** The label of the last error, never its message. */
  readonly error: string;
}

/** A call that you defined and that was abandoned. */
export interface AbandonedCallItem extends AttentionFacts<"abandoned-call"> {
  /** The number of attempts. */
  readonly attempts: number;
  /** The label of the last error, never its message. */
  readonly error: string;
}

/** An event that cannot be read, that broke a contract, or whose handler used up its attempts. */
export interface AbandonedEventItem extends AttentionFacts<"abandoned-event"> {
  /** The handler of the event; undefined if the event could not be routed to one. */
  readonly handler: string | undefined;
  /** The run that waits for it. */
  readonly sagaId: string | undefined;
  /** The number of attempts. */
  readonly attempts: number;
  /** The label of the last error, never its message. */
  readonly error: string;
}

/** A webhook delivery that became a dead letter. Its id is that of the delivery. */
export interface DeadLetterItem extends AttentionFacts<"dead-letter"> {
  /** The subscription that did not get the event. */
  readonly subscription: SubscriptionBrief;
  /** The event that was published. */
  readonly eventId: string;
  /** The number of attempts. */
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
  /** When the erasure was requested. */
  readonly requestedAt: Date;
  /** The entries of the outbox that it waits for. */
  readonly blocking: readonly BlockingEntry[];
}

/** Open sagas of one kind that no running worker can run. Its id is their name, their version and the digest of their steps. */
export interface UnservedKindItem extends AttentionFacts<"unserved-kind"> {
  /** The version of their definition. */
  readonly version: number;
  /** The number of open sagas, at most 1,000. */
  readonly sagas: number;
}

/** A registered handler of events that no running worker has, with what waits for it. Its id is the handler's name. */
export interface UnservedHandlerItem extends AttentionFacts<"unserved-handler"> {
  /** The type of the event that it takes. */
  readonly event: string;
  /** The number of deliveries that wait for it, at most 1,000. */
  readonly backlog: number;
}

/** A schedule whose tick has begun, and that no worker has processed for 10 minutes. Its id is the schedule's name. */
export interface OverdueScheduleItem extends AttentionFacts<"overdue-schedule"> {
  /** The saga that its ticks start. */
  readonly saga: string;
  /** The version of the saga. */
  readonly version: number;
  /** True if a running worker has the saga. */
  readonly served: boolean;
}

/** The database refuses to record outcomes, for a reason that a person must remove. Nothing is called again meanwhile. */
export interface RefusedWriteItem extends AttentionFacts<"refused-write"> {
  /** The error code, such as `DATABASE_FORBIDDEN`. */
  readonly code: string;
  /** The SQLSTATE of PostgreSQL, or the code of SQLite. */
  readonly state: string;
  /** The number of outcomes that wait in the process that reported last. */
  readonly waiting: number;
}

/** One attention item. Its `kind` says which of these it is. */
export type AttentionItem =
  | StalledSagaItem
  | FailingSagaItem
  | ExcludedSagaItem
  | LostSagaItem
  | StalledRunItem
  | AbandonedEntryItem
  | AbandonedCallItem
  | AbandonedEventItem
  | DeadLetterItem
  | DisabledSubscriptionItem
  | OverdueErasureItem
  | UnservedKindItem
  | UnservedHandlerItem
  | OverdueScheduleItem
  | RefusedWriteItem;
