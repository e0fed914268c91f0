/**
 * What an outside system has to offer, so that a subject's data can be erased or corrected there. Every call may come
 * more than once, always under the same key, and must then come to the same end. A thrown `ResolverError` is permanent;
 * whatever else is thrown is tried again, a `RetryLater` not before it asked for.
 */
import { Terminal } from "../../core/errors.ts";
import type { Correction, SubjectRef } from "../../core/outbox/entry.ts";

export interface ResolverCall {
  /** The entry's id: pass it on as the idempotency key. */
  readonly key: string;
  /** 1 for the first. */
  readonly attempt: number;
  /** Fires when nobody waits for the answer any longer. */
  readonly signal: AbortSignal;
  readonly subjectId: string;
}

export interface ResolverErasure {
  /** There was nothing (left) to erase: a success. */
  readonly alreadyAbsent?: boolean;
}

export interface ResolverRectification {
  /** Everything was right already: a success. */
  readonly alreadyConsistent?: boolean;
}

/** The system cannot erase, it can only let the data expire. */
export type ResolverExpiry = { readonly expiresAt: Date } | { readonly alreadyAbsent: true };

interface Named {
  /** A ref goes to the resolver whose name equals its kind. */
  readonly name: string;
  /** The ref's value is personal data itself (an email address): scrubbed once the entry is done with. */
  readonly personalRef?: boolean;
}

export interface Resolver extends Named {
  eraseSubject(ref: SubjectRef, call: ResolverCall): Promise<ResolverErasure>;
}

export interface RectifyingResolver extends Resolver {
  rectifySubject(
    ref: SubjectRef,
    corrections: readonly Correction[],
    call: ResolverCall,
  ): Promise<ResolverRectification>;
}

export interface VerifyingResolver extends Resolver {
  /** Looks whether the data is really gone. */
  verifyAbsent(ref: SubjectRef, call: ResolverCall): Promise<boolean>;
}

export interface RetentionOnlyResolver extends Named {
  scheduleErasure(ref: SubjectRef, call: ResolverCall): Promise<ResolverExpiry>;
}

export type AnyResolver = Resolver | RectifyingResolver | VerifyingResolver | RetentionOnlyResolver;

export { RetryLater } from "../../core/errors.ts";

/** Trying again cannot help: the entry is abandoned, and a person is told. */
export class ResolverError extends Terminal {
  constructor(code: string, message: string = code, options?: ErrorOptions) {
    super(code, message, options);
    this.name = "ResolverError";
  }
}
