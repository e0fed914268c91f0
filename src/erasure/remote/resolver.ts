/**
 * What an outside system has to offer, so that a subject's data can be erased or corrected there. Every call may come
 * more than once, always under the same key, and must then come to the same end. A thrown `ResolverError` is permanent;
 * whatever else is thrown is tried again, a `RetryLater` not before it asked for.
 */
import { Terminal } from "../../core/errors.ts";
import type { Correction, SubjectRef } from "../../core/outbox/entry.ts";

/** What a resolver is told about the call. */
export interface ResolverCall {
  /** The entry's id: pass it on as the idempotency key. */
  readonly key: string;
  /** 1 for the first. */
  readonly attempt: number;
  /** Fires when nobody waits for the answer any longer. */
  readonly signal: AbortSignal;
  /** The person that it is about. */
  readonly subjectId: string;
}

/** What a resolver answers to an erasure. */
export interface ResolverErasure {
  /** There was nothing (left) to erase: a success. */
  readonly alreadyAbsent?: boolean;
}

/** What a resolver answers to a rectification. */
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

/** Erases a person in another system. */
export interface Resolver extends Named {
  /** Erases the person. It may be called twice with the same key, and must then do nothing more. */
  eraseSubject(ref: SubjectRef, call: ResolverCall): Promise<ResolverErasure>;
}

/** A resolver that can also correct data. */
export interface RectifyingResolver extends Resolver {
  /** Corrects the person's data. It may be called twice with the same key. */
  rectifySubject(
    ref: SubjectRef,
    corrections: readonly Correction[],
    call: ResolverCall,
  ): Promise<ResolverRectification>;
}

/** A resolver that can also look whether the data is gone. */
export interface VerifyingResolver extends Resolver {
  /** Looks whether the data is really gone. */
  verifyAbsent(ref: SubjectRef, call: ResolverCall): Promise<boolean>;
}

/** A system that erases by itself after some time, such as backups and logs. */
export interface RetentionOnlyResolver extends Named {
  /** Says when the data will be gone. */
  scheduleErasure(ref: SubjectRef, call: ResolverCall): Promise<ResolverExpiry>;
}

/** Every kind of resolver. */
export type AnyResolver = Resolver | RectifyingResolver | VerifyingResolver | RetentionOnlyResolver;

export { RetryLater } from "../../core/errors.ts";

/** Trying again cannot help: the entry is abandoned, and a person is told. */
export class ResolverError extends Terminal {
  constructor(code: string, message: string = code, options?: ErrorOptions) {
    super(code, message, options);
    this.name = "ResolverError";
  }
}
