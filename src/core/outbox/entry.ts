/** An outbox entry for a data subject: the subject, the outside system and the operation. */
import type { OutboxStatus } from "./machine.ts";

export const OPERATIONS = ["erase", "rectify"] as const;
/** What an entry asks of an outside system: to erase the subject's data, or to correct it. */
export type OutboxOperation = (typeof OPERATIONS)[number];

/** How an outside system identifies the subject: `{ kind: "stripe", value: "cus_9" }`. */
export interface SubjectRef {
  /** The name of the resolver that handles it. */
  readonly kind: string;
  /** The subject's id in the outside system. */
  readonly value: string;
  /** Further values that the resolver needs, such as `stripeAccount`. */
  readonly extra?: Readonly<Record<string, string>>;
}

/** The correct value of a category of personal data. */
export type CorrectedValue = string | number | boolean;

/** The correct value of one category of personal data, such as `email`. */
export interface Correction {
  /** The category, as the data map names it. */
  readonly category: string;
  /** The correct value. */
  readonly value: CorrectedValue;
}

export const VERIFICATIONS = ["pending", "required"] as const;
/** Whether a call still has to be verified at the other system. */
export type Verification = (typeof VERIFICATIONS)[number];

/** One call to an outside system about one subject, as the outbox holds it. */
export interface OutboxEntry {
  /** The id of the entry, a UUID. It is also the idempotency key of the call. */
  readonly entryId: string;
  /** The id of the data subject. */
  readonly subjectId: string;
  /** The name of the resolver that makes the call: at most 255 letters, digits, dots, dashes and underscores. */
  readonly resolver: string;
  /** How the outside system identifies the subject. */
  readonly ref: SubjectRef;
  /** Whether the call erases or corrects. */
  readonly operation: OutboxOperation;
  /** The values of a rectification. They are personal data and are removed from the row once the entry is done. */
  readonly corrections: readonly Correction[];
  /** The status of the entry. */
  readonly status: OutboxStatus;
  /**
   * The number of attempts since the entry was enqueued, requeued or scheduled for an expiry, the current one included.
   */
  readonly attempts: number;
  /** The number of the subject's request that it belongs to. */
  readonly generation: number;
  /** How often the outside system has named a date by which the data expires. */
  readonly horizons: number;
  /** How often an operator has requeued the entry. */
  readonly requeues: number;
  /**
   * Set after a successful call that is to be verified. `required` keeps the request open until the verification
   * succeeds.
   */
  readonly verification: Verification | undefined;
  /** When the entry was enqueued, by the database's clock. */
  readonly enqueuedAt: Date;
  /** When the entry was last claimed; undefined before the first attempt. */
  readonly lastAttemptAt: Date | undefined;
  /** The earliest instant at which the entry may be claimed; undefined means at once. */
  readonly nextAttemptAt: Date | undefined;
  /** The label of the last error, never its message; undefined if there was none. */
  readonly lastError: string | undefined;
  /** The fencing token of the latest claim. Settling the entry requires it. */
  readonly token: number;
}

/** An entry to enqueue. */
export interface NewOutboxEntry {
  /**
   * The id of the data subject, at most 255 characters. It must be unique over all subjects: two that share one id are
   * completed as one.
   */
  readonly subjectId: string;
  /** The name of the resolver that makes the call: at most 255 letters, digits, dots, dashes and underscores. */
  readonly resolver: string;
  /** How the outside system identifies the subject. */
  readonly ref: SubjectRef;
  /** Whether the call erases or corrects. Default: "erase". */
  readonly operation?: OutboxOperation;
  /** The values of a rectification. A rectification needs at least one. */
  readonly corrections?: readonly Correction[];
  /** The number of the subject's request that it belongs to. Default: 0. */
  readonly generation?: number;
  /** The id of the entry, a UUID. Default: a new one. */
  readonly entryId?: string;
}

/** One table holds everything that leaves the system; the kind distinguishes the entries. */
export const OUTBOX_KINDS = ["erasure", "event", "delivery", "call"] as const;
export type OutboxKind = (typeof OUTBOX_KINDS)[number];
