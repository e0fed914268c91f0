/**
 * The interface of an outside system that can erase or correct a subject's data. A call may be repeated with the
 * same idempotency key and must then have the same result. A thrown `ResolverError` is permanent; any other error
 * is retried, a `RetryLater` after the wait that it asks for.
 */
import { Terminal } from "../../core/errors.ts";
import type { Correction, SubjectRef } from "../../core/outbox/entry.ts";

/** What a resolver knows of the call that it makes. */
export interface ResolverCall {
  /** The id of the entry. Pass it on as the idempotency key. */
  readonly key: string;
  /** The number of the attempt; 1 for the first. */
  readonly attempt: number;
  /** Aborts on a timeout, on a lost claim and on shutdown. Pass it to `fetch`. */
  readonly signal: AbortSignal;
  /** The id of the data subject in your application. */
  readonly subjectId: string;
}

/** The result of a successful erasure. */
export interface ResolverErasure {
  /** True if the system had no data of the subject. It counts as a success. */
  readonly alreadyAbsent?: boolean;
}

/** The result of a successful rectification. */
export interface ResolverRectification {
  /** True if the system already had the correct values. It counts as a success. */
  readonly alreadyConsistent?: boolean;
}

/** The result of `scheduleErasure`: the date by which the data expires, or that there is none. */
export type ResolverExpiry = { readonly expiresAt: Date } | { readonly alreadyAbsent: true };

interface Named {
  /** The name of the resolver. It handles every ref of this `kind`. */
  readonly name: string;
  /**
   * True if the value of a ref is personal data itself, such as an email address. It is removed from the row once the
   * entry is done. Default: false.
   */
  readonly personalRef?: boolean;
}

/**
 * An outside system that can erase a subject's data. Every call may be repeated under the same key and must then have
 * the same result. A thrown `ResolverError` is permanent; every other error is retried.
 */
export interface Resolver extends Named {
  /** Erases the subject's data. Resolves once the data is gone. */
  eraseSubject(ref: SubjectRef, call: ResolverCall): Promise<ResolverErasure>;
}

/** A resolver whose system can also correct a subject's data. */
export interface RectifyingResolver extends Resolver {
  /** Writes the correct values. It ignores categories that the system does not hold. */
  rectifySubject(
    ref: SubjectRef,
    corrections: readonly Correction[],
    call: ResolverCall,
  ): Promise<ResolverRectification>;
}

/** A resolver that can also check that an erasure took effect. */
export interface VerifyingResolver extends Resolver {
  /** Returns true if the system has no data of the subject left. */
  verifyAbsent(ref: SubjectRef, call: ResolverCall): Promise<boolean>;
}

/** A resolver for a system that cannot erase, and in which data can only expire. */
export interface RetentionOnlyResolver extends Named {
  /** Lets the data expire, and returns the date. It is called again after that date, until the data is absent. */
  scheduleErasure(ref: SubjectRef, call: ResolverCall): Promise<ResolverExpiry>;
}

/** A resolver of any kind. Its methods decide what it can do. */
export type AnyResolver = Resolver | RectifyingResolver | VerifyingResolver | RetentionOnlyResolver;

export { RetryLater } from "../../core/errors.ts";

/** Thrown by a resolver for a permanent failure: the entry is abandoned and needs attention. */
export class ResolverError extends Terminal {
  constructor(code: string, message: string = code, options?: ErrorOptions) {
    super(code, message, options);
    this.name = "ResolverError";
  }
}
