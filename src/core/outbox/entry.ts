/** What an outbox entry for a data subject says: whom it concerns, which system, and what is to be done there. */
import type { OutboxStatus } from "./machine.ts";

export const OPERATIONS = ["erase", "rectify"] as const;
export type OutboxOperation = (typeof OPERATIONS)[number];

/** Under which name an outside system knows the subject: `{ kind: "stripe", value: "cus_9" }`. */
export interface SubjectRef {
  /** Names the resolver that it goes to. */
  readonly kind: string;
  readonly value: string;
  readonly extra?: Readonly<Record<string, string>>;
}

export type CorrectedValue = string | number | boolean;

/** The right value of one category of personal data, such as `email`. */
export interface Correction {
  readonly category: string;
  readonly value: CorrectedValue;
}

export const VERIFICATIONS = ["pending", "required"] as const;
export type Verification = (typeof VERIFICATIONS)[number];

export interface OutboxEntry {
  /** Also the idempotency key of the call. */
  readonly entryId: string;
  readonly subjectId: string;
  readonly resolver: string;
  readonly ref: SubjectRef;
  readonly operation: OutboxOperation;
  /** Personal data: in the row only until the entry is done with. */
  readonly corrections: readonly Correction[];
  readonly status: OutboxStatus;
  /** How often it was claimed since it was enqueued, requeued or parked. */
  readonly attempts: number;
  /** Which request of this subject it belongs to, where they are counted. */
  readonly generation: number;
  /** How often the outside system named a day on which the data will have expired. */
  readonly horizons: number;
  readonly requeues: number;
  /** The call succeeded and is to be verified; `required` keeps the request from completing until it is. */
  readonly verification: Verification | undefined;
  readonly enqueuedAt: Date;
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
  readonly subjectId: string;
  readonly resolver: string;
  readonly ref: SubjectRef;
  /** `erase` unless said otherwise. */
  readonly operation?: OutboxOperation;
  readonly corrections?: readonly Correction[];
  readonly generation?: number;
  /** A UUID. A new one is made where none is given. */
  readonly entryId?: string;
}

/** Everything that leaves the system is in one table, told apart by kind. */
export const OUTBOX_KINDS = ["erasure", "event", "delivery", "call"] as const;
export type OutboxKind = (typeof OUTBOX_KINDS)[number];
