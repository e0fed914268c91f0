/**
 * The call log of a system in memory, and the scripted behaviour of its next calls: fail, hang, return an invalid
 * value, or be down.
 */
import type { SubjectRef } from "../../core/outbox/entry.ts";
import type { ResolverCall } from "../../erasure/remote/resolver.ts";

/** One call that a system in memory received. */
export interface MemoryCall {
  /** What the call asked for. */
  readonly operation: "erase" | "rectify" | "verify" | "schedule";
  /** The idempotency key of the call. */
  readonly key: string;
  /** The number of the attempt; 1 for the first. */
  readonly attempt: number;
  /** The ref of the subject. */
  readonly ref: SubjectRef;
}

/**
 * How a call fails. `throws`: this is thrown. `answers`: this is returned, whether it fits or not. `hangs`: no answer
 * until the call is aborted. `losesReply`: the call takes effect, and then it throws.
 */
export type MemoryTrouble =
  /** The call has no effect, and this is thrown. */
  | { readonly throws: unknown }
  /** The call has no effect, and this is returned. */
  | { readonly answers: unknown }
  /** The call has no effect, and it does not return until it is aborted. */
  | { readonly hangs: true }
  /** The call takes effect, and then it throws: the case that idempotency keys are for. */
  | { readonly losesReply: true };

/** The calls of a system in memory, and how its next calls fail. */
export interface MemoryScript {
  /** Every call, in the order of arrival. */
  readonly calls: readonly MemoryCall[];
  /** The calls with this idempotency key. */
  callsUnder(key: string): readonly MemoryCall[];
  /** Makes the next calls fail in this way. Repeated use adds further failing calls. Default: one call. */
  troubleNext(trouble: MemoryTrouble, times?: number): void;
  /** Makes every call fail from now on. It takes precedence over `troubleNext`. Default: calls throw. */
  goDown(trouble?: MemoryTrouble): void;
  /** Ends the failure that `goDown` began. */
  comeBack(): void;
}

export class SystemDown extends Error {}

/** Records the call and executes it, unless a failure is scripted. */
export type Play = <T>(
  operation: MemoryCall["operation"],
  ref: SubjectRef,
  call: ResolverCall,
  work: () => T,
) => Promise<T>;

export function memoryScript(): { readonly script: MemoryScript; readonly play: Play } {
  const calls: MemoryCall[] = [];
  const troubles: MemoryTrouble[] = [];
  let outage: MemoryTrouble | undefined;
  const script: MemoryScript = {
    calls,
    callsUnder: (key) => calls.filter((call) => call.key === key),
    troubleNext(trouble, times = 1) {
      for (let count = 0; count < times; count++) troubles.push(trouble);
    },
    goDown(trouble = { throws: new SystemDown("The system is down.") }) {
      outage = trouble;
    },
    comeBack() {
      outage = undefined;
    },
  };
  const play: Play = async (operation, ref, { key, attempt, signal }, work) => {
    signal.throwIfAborted();
    calls.push({ operation, key, attempt, ref });
    const trouble = outage ?? troubles.shift();
    if (!trouble) return work();
    if ("hangs" in trouble) return untilAborted(signal);
    // The value may be invalid on purpose: it need not have the expected type.
    if ("answers" in trouble) return trouble.answers as ReturnType<typeof work>;
    if ("throws" in trouble) throw trouble.throws;
    work();
    throw new SystemDown("The reply was lost.");
  };
  return { script, play };
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}
