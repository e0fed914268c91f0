/** The shared parts of the resolver suite: its fixture, its calls and its assertions. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { classify, errorLabel } from "../../core/errors.ts";
import type { CorrectedValue, Correction, SubjectRef } from "../../core/outbox/entry.ts";
import type {
  AnyResolver,
  RectifyingResolver,
  Resolver,
  ResolverCall,
  RetentionOnlyResolver,
  VerifyingResolver,
} from "../../erasure/remote/resolver.ts";

/** How a system fails. `down`: temporarily. `refuses`: permanently. `hangs`: it does not answer. */
export type ResolverFault = "down" | "refuses" | "hangs";

/** A resolver under test, and direct access to the outside system behind it. */
export interface ResolverTrial {
  /** The resolver under test. */
  readonly resolver: AnyResolver;
  /** Stores a new subject in the system, with a value in every category that can be corrected. */
  plant(): Promise<SubjectRef>;
  /** Returns a ref of the right form that the system has never known. */
  unknown(): Promise<SubjectRef>;
  /** Returns true if the system has data of this subject, without using the resolver. */
  holds(ref: SubjectRef): Promise<boolean>;
  /** For resolvers that rectify: returns the value of a category in the system, without using the resolver. */
  read?(ref: SubjectRef, category: string): Promise<CorrectedValue | undefined>;
  /** For retention-only resolvers: ends the retention of this subject's data now. */
  expire?(ref: SubjectRef): Promise<void>;
  /** Makes the system fail in this way from now on; undefined ends it. */
  fault?(fault: ResolverFault | undefined): Promise<void>;
  /** Releases the system. It is called at the end of each case. */
  close(): Promise<void>;
}

/** The fixture of a case: `read`, `expire` and `fault` throw if the trial does not have them. */
export interface ResolverCaseContext {
  readonly resolver: AnyResolver;
  readonly plant: () => Promise<SubjectRef>;
  readonly unknown: () => Promise<SubjectRef>;
  readonly holds: (ref: SubjectRef) => Promise<boolean>;
  readonly read: (ref: SubjectRef, category: string) => Promise<CorrectedValue | undefined>;
  readonly expire: (ref: SubjectRef) => Promise<void>;
  readonly fault: (fault: ResolverFault | undefined) => Promise<void>;
  readonly corrections: readonly Correction[];
  readonly wait: (ms: number) => Promise<void>;
  readonly nowMs: () => number;
}

export interface ResolverCase {
  readonly name: string;
  readonly show: (context: ResolverCaseContext) => Promise<void>;
}

export const NEVER: AbortSignal = new AbortController().signal;

export function newKey(): string {
  return randomUUID();
}

export function callWith(key: string, attempt: number = 1, signal: AbortSignal = NEVER): ResolverCall {
  return { key, attempt, signal, subjectId: "subject-1" };
}

export function canSchedule(resolver: AnyResolver): resolver is RetentionOnlyResolver {
  return typeof (resolver as Partial<RetentionOnlyResolver>).scheduleErasure === "function";
}

export function canErase(resolver: AnyResolver): resolver is Resolver {
  return typeof (resolver as Partial<Resolver>).eraseSubject === "function";
}

export function canRectify(resolver: AnyResolver): resolver is RectifyingResolver {
  return typeof (resolver as Partial<RectifyingResolver>).rectifySubject === "function";
}

export function canVerify(resolver: AnyResolver): resolver is VerifyingResolver {
  return typeof (resolver as Partial<VerifyingResolver>).verifyAbsent === "function";
}

/** Erases, or schedules the expiry if the resolver cannot erase. Returns whether the subject was absent already. */
export async function erase(
  { resolver }: ResolverCaseContext,
  ref: SubjectRef,
  call: ResolverCall,
): Promise<{ readonly wasAbsent: boolean; readonly expiresAt: Date | undefined }> {
  const what = canErase(resolver) ? "eraseSubject" : "scheduleErasure";
  const answer: unknown = canErase(resolver)
    ? await resolver.eraseSubject(ref, call)
    : await resolver.scheduleErasure(ref, call);
  assert.ok(typeof answer === "object" && answer !== null, `${what} must answer with an object`);
  const { alreadyAbsent, expiresAt } = answer as { alreadyAbsent?: unknown; expiresAt?: unknown };
  assert.ok(
    alreadyAbsent === undefined || typeof alreadyAbsent === "boolean",
    `alreadyAbsent must be true or false, not ${typeof alreadyAbsent}`,
  );
  if (canErase(resolver) || alreadyAbsent === true) {
    return { wasAbsent: alreadyAbsent === true, expiresAt: undefined };
  }
  assert.ok(
    expiresAt instanceof Date && !Number.isNaN(expiresAt.getTime()),
    "scheduleErasure must answer with a valid Date as expiresAt, or with alreadyAbsent: true",
  );
  return { wasAbsent: false, expiresAt };
}

/** Asserts that the call fails in this way, with a meaningful label that does not name the subject. */
export async function fails(
  what: string,
  how: "permanent" | "transient",
  ref: SubjectRef,
  call: () => Promise<unknown>,
): Promise<void> {
  let thrown: unknown;
  try {
    await call();
  } catch (error) {
    thrown = error ?? new Error("nothing");
  }
  assert.ok(thrown !== undefined, `${what} must be an error, but it was answered as a success`);
  const label = errorLabel(thrown);
  const remedy = how === "permanent" ? "throw a ResolverError" : "throw anything but a ResolverError";
  assert.equal(classify(thrown), how, `${what} must be ${how}: ${remedy}; its label is ${label}`);
  assert.ok(
    label !== "UnknownError" && label !== "Error",
    `${what} must have a meaningful label: throw a ResolverError or a RetryLater with a code, or an error of a class of its own; this one's is ${label}`,
  );
  assert.ok(!label.includes(ref.value), `the label of ${what} must not name the subject`);
}

/** A trial may be an instance of a class, so its methods are called on it. */
export function contextOf(
  trial: ResolverTrial,
  settings: Pick<ResolverCaseContext, "corrections" | "wait" | "nowMs">,
): ResolverCaseContext {
  return {
    ...settings,
    resolver: trial.resolver,
    plant: () => trial.plant(),
    unknown: () => trial.unknown(),
    holds: (ref) => trial.holds(ref),
    read: (ref, category) => trial.read?.(ref, category) ?? missing("read"),
    expire: (ref) => trial.expire?.(ref) ?? missing("expire"),
    fault: (fault) => trial.fault?.(fault) ?? missing("fault"),
  };
}

function missing(method: string): never {
  throw new Error(
    `The suite needs ${method}() for this case. Implement it, or exclude the case in the options.`,
  );
}
