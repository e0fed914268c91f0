/** What an outbox entry for a data subject says: whom it concerns, which system, and what is to be done there. */
import type { OutboxStatus } from "./machine.ts";

export const OPERATIONS = ["erase", "rectify"] as const;
/** What a resolver is asked to do. */
export type OutboxOperation = (typeof OPERATIONS)[number];

/** Under which name an outside system knows the subject: `{ kind: "stripe", value: "cus_9" }`. */
export interface SubjectRef {
  /** Names the resolver that it goes to. */
  readonly kind: string;
  /** The id of the person in the other system. */
  readonly value: string;
  /** Further facts that the resolver needs. */
  readonly extra?: Readonly<Record<string, string>>;
}

/** The right value of a category. */
export type CorrectedValue = string | number | boolean;

/** The right value of one category of personal data, such as `email`. */
export interface Correction {
  /** The category of personal data, as the data map names it. */
  readonly category: string;
  /** The right value. */
  readonly value: CorrectedValue;
}

export const VERIFICATIONS = ["pending", "required"] as const;
export type Verification = (typeof VERIFICATIONS)[number];

/** One call to a resolver, and how far it is. */
export interface OutboxEntry {
  /** Also the idempotency key of the call. */
  readonly entryId: string;
  /** The person that it is about. */
  readonly subjectId: string;
  /** The resolver that makes the call. */
  readonly resolver: string;
  /** The person in the other system. */
  readonly ref: SubjectRef;
  /** What the resolver is asked to do. */
  readonly operation: OutboxOperation;
  /** Personal data: in the row only until the entry is done with. */
  readonly corrections: readonly Correction[];
  /** The state of the entry. */
  readonly status: OutboxStatus;
  /** How often it was claimed since it was enqueued, requeued or parked. */
  readonly attempts: number;
  /** Which request of this subject it belongs to, where they are counted. */
  readonly generation: number;
  /** How often the outside system named a day on which the data will have expired. */
  readonly horizons: number;
  /** How often an operator gave it a fresh budget. */
  readonly requeues: number;
  /** The call succeeded and is to be verified; `required` keeps the request from completing until it is. */
  readonly verification: Verification | undefined;
  /** When it was enqueued, by the database's clock. */
  readonly enqueuedAt: Date;
  /** When it was last claimed; undefined before the first time. */
  readonly lastAttemptAt: Date | undefined;
  /** The earliest instant at which it may be claimed; undefined means at once. */
  readonly nextAttemptAt: Date | undefined;
  /** A label, never a message. */
  readonly lastError: string | undefined;
  /** Names the claim that holds it: whoever settles gives it back. */
  readonly token: number;
}

/** As it is handed in. */
export interface NewOutboxEntry {
  /** The person that it is about. */
  readonly subjectId: string;
  /** The resolver that makes the call. */
  readonly resolver: string;
  /** The person in the other system. */
  readonly ref: SubjectRef;
  /** What the resolver is asked to do. Default: `erase`. */
  readonly operation?: OutboxOperation;
  /** The right values, for a rectification. */
  readonly corrections?: readonly Correction[];
  /** The number of the correction, for a rectification. */
  readonly generation?: number;
  /** A UUID. A new one is made where none is given. */
  readonly entryId?: string;
}

/** Everything that leaves the system is in one table, told apart by kind. */
export const OUTBOX_KINDS = ["erasure", "event", "delivery", "call"] as const;
export type OutboxKind = (typeof OUTBOX_KINDS)[number];
