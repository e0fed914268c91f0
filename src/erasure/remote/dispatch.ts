/** Calls a method of a resolver. A hanging call, any thrown value and an invalid result each become an outcome. */
import { decide, type Decision, type Outcome, type Policy } from "../../core/outbox/decide.ts";
import type { OutboxEntry } from "../../core/outbox/entry.ts";
import { Attempt } from "../../outbox/attempt.ts";
import { failureOf } from "../../outbox/outcome.ts";
import { intercepted } from "../../runtime/call.ts";
import type { Lease } from "../../runtime/lease.ts";
import { LOCAL_ONLY } from "./complete.ts";
import { canErase, canRectify, canVerify, isRetentionOnly, type ResolverRegistry } from "./registry.ts";
import { ResolverError, type ResolverCall } from "./resolver.ts";

export interface ResolverAttemptOptions {
  readonly policy: Policy;
  /** The last attempt has not returned. */
  readonly noteRunning: () => Promise<void>;
}

/** One attempt of an entry's call. */
export class ResolverAttempt extends Attempt {
  readonly #registry: ResolverRegistry;
  readonly #entry: OutboxEntry;
  readonly #options: ResolverAttemptOptions;

  constructor(registry: ResolverRegistry, entry: OutboxEntry, lease: Lease, options: ResolverAttemptOptions) {
    super(lease);
    this.#registry = registry;
    this.#entry = entry;
    this.#options = options;
  }

  protected call(): Promise<Outcome> {
    const { entryId: key, attempts: attempt, subjectId } = this.#entry;
    const signalOf = (): AbortSignal => this.signal;
    const call: ResolverCall = {
      key,
      attempt,
      subjectId,
      get signal() {
        return signalOf();
      },
    };
    return dispatch(this.#registry, this.#entry, call);
  }

  protected decide(outcome: Outcome): Decision {
    return decide(this.#entry, outcome, this.#options.policy);
  }

  protected noteRunning(): Promise<void> {
    return this.#options.noteRunning();
  }
}

/** Never rejects. */
async function dispatch(
  registry: ResolverRegistry,
  entry: OutboxEntry,
  call: ResolverCall,
): Promise<Outcome> {
  try {
    if (entry.resolver === LOCAL_ONLY) return { kind: "done", already: true };
    const { resolver: name } = entry;
    return await intercepted(
      () => ({ part: "resolver", name, attempt: call.attempt, key: call.key }),
      () => ask(registry, entry, call),
    );
  } catch (thrown) {
    return failureOf(thrown);
  }
}

async function ask(registry: ResolverRegistry, entry: OutboxEntry, call: ResolverCall): Promise<Outcome> {
  const resolver = registry.get(entry.resolver);
  const { ref, corrections, operation } = entry;
  if (entry.verification !== undefined) {
    if (!canVerify(resolver)) throw new ResolverError("CannotVerify");
    const answer: unknown = await resolver.verifyAbsent(ref, call);
    if (typeof answer !== "boolean") throw unfit();
    return { kind: answer ? "absent" : "present" };
  }
  if (operation === "rectify") {
    if (!canRectify(resolver)) throw new ResolverError("CannotRectify");
    const answer: unknown = await resolver.rectifySubject(ref, corrections, call);
    return { kind: "done", already: flag(answer, "alreadyConsistent") };
  }
  if (isRetentionOnly(resolver)) return expiry(await resolver.scheduleErasure(ref, call));
  if (!canErase(resolver)) throw new ResolverError("CannotErase");
  return { kind: "done", already: flag(await resolver.eraseSubject(ref, call), "alreadyAbsent") };
}

function expiry(answer: unknown): Outcome {
  const { expiresAt } = (isObject(answer) ? answer : {}) as { expiresAt?: unknown };
  if (expiresAt === undefined) {
    if (!flag(answer, "alreadyAbsent")) throw unfit();
    return { kind: "done", already: true };
  }
  const atMs = expiresAt instanceof Date ? expiresAt.getTime() : Number.NaN;
  if (!Number.isFinite(atMs) || Math.abs(atMs) > INSTANT_MAX_MS) throw unfit();
  return { kind: "expires", atMs };
}

/** The year 9999: every database and every date format can hold it. */
const INSTANT_MAX_MS = 253_402_300_799_000;

/** A valid answer is an object whose flag is true, false or undefined. */
function flag(answer: unknown, name: string): boolean {
  if (!isObject(answer)) throw unfit();
  const value = (answer as Record<string, unknown>)[name];
  if (value !== undefined && typeof value !== "boolean") throw unfit();
  return value === true;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function unfit(): ResolverError {
  return new ResolverError(
    "UnfitAnswer",
    "The resolver returned an invalid result. See the types of its methods.",
  );
}
