/** Outside systems as tests need them: each notes its calls, and does what the test says. */
import type {
  Correction,
  RectifyingResolver,
  Resolver,
  ResolverCall,
  ResolverErasure,
  RetentionOnlyResolver,
  SubjectRef,
  VerifyingResolver,
} from "amends/erasure";

export interface NotedCall {
  readonly method: "erase" | "rectify" | "verify" | "schedule";
  readonly ref: SubjectRef;
  readonly key: string;
  readonly attempt: number;
  readonly subjectId: string;
  readonly corrections?: readonly Correction[];
}

type Answer<T> = (ref: SubjectRef, call: ResolverCall, count: number) => T | Promise<T>;

class Notes {
  readonly calls: NotedCall[] = [];

  note(
    method: NotedCall["method"],
    ref: SubjectRef,
    call: ResolverCall,
    corrections?: readonly Correction[],
  ): number {
    const { key, attempt, subjectId } = call;
    this.calls.push({ method, ref, key, attempt, subjectId, ...(corrections && { corrections }) });
    return this.calls.length;
  }
}

export type System<R> = R & { readonly calls: readonly NotedCall[] };

export function eraser(
  name: string,
  answer: Answer<ResolverErasure> = () => ({}),
  options: { readonly personalRef?: boolean } = {},
): System<Resolver> {
  const notes = new Notes();
  return {
    name,
    ...options,
    calls: notes.calls,
    eraseSubject: async (ref, call) => answer(ref, call, notes.note("erase", ref, call)),
  };
}

export function rectifier(
  name: string,
  answer: Answer<{ readonly alreadyConsistent?: boolean }> = () => ({}),
  options: { readonly personalRef?: boolean } = {},
): System<RectifyingResolver> {
  const notes = new Notes();
  return {
    name,
    ...options,
    calls: notes.calls,
    eraseSubject: async (ref, call) => (notes.note("erase", ref, call), {}),
    rectifySubject: async (ref, corrections, call) =>
      answer(ref, call, notes.note("rectify", ref, call, corrections)),
  };
}

export function verifier(
  name: string,
  verdict: Answer<boolean>,
  erasure: Answer<ResolverErasure> = () => ({}),
): System<VerifyingResolver> {
  const notes = new Notes();
  return {
    name,
    calls: notes.calls,
    eraseSubject: async (ref, call) => erasure(ref, call, notes.note("erase", ref, call)),
    verifyAbsent: async (ref, call) => verdict(ref, call, notes.note("verify", ref, call)),
  };
}

export function keeper(
  name: string,
  answer: Answer<{ readonly expiresAt: Date } | { readonly alreadyAbsent: true }>,
): System<RetentionOnlyResolver & Resolver> {
  const notes = new Notes();
  return {
    name,
    calls: notes.calls,
    // It has both: a system that can only let data expire must never be asked to erase.
    eraseSubject: async (ref, call) => (notes.note("erase", ref, call), {}),
    scheduleErasure: async (ref, call) => answer(ref, call, notes.note("schedule", ref, call)),
  };
}
