/** What a system in memory was asked, and what it does the next time: fail, hang, answer nonsense, or be down. */
import type { SubjectRef } from "../../core/outbox/entry.ts";
import type { ResolverCall } from "../../erasure/remote/resolver.ts";

/** One call that the system got. */
export interface MemoryCall {
  /** What it was asked to do. */
  readonly operation: "erase" | "rectify" | "verify" | "schedule";
  /** The idempotency key of the call. */
  readonly key: string;
  /** The number of the try. */
  readonly attempt: number;
  /** The person that it was about. */
  readonly ref: SubjectRef;
}

/** How a call goes wrong. */
export type MemoryTrouble =
  /** Nothing happens, and this is thrown. */
  | { readonly throws: unknown }
  /** Nothing happens, and this is the answer. */
  | { readonly answers: unknown }
  /** Nothing happens, and nothing is heard until the call is aborted. */
  | { readonly hangs: true }
  /** It happens, and nobody hears of it: the case that idempotency keys are for. */
  | { readonly losesReply: true };

/** What a test can tell the system to do, and what it did. */
export interface MemoryScript {
  /** Every call, in the order in which they came. */
  readonly calls: readonly MemoryCall[];
  /** The calls with this key. */
  callsUnder(key: string): readonly MemoryCall[];
  /** The next `times` calls go wrong in this way. Several add up. Default: 1. */
  troubleNext(trouble: MemoryTrouble, times?: number): void;
  /** From now on every call fails, or goes wrong as given, before what `troubleNext` said. */
  goDown(trouble?: MemoryTrouble): void;
  /** Ends what `goDown` began. */
  comeBack(): void;
}

export class SystemDown extends Error {}

/** Records the call and carries it out, unless there is trouble. */
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
    // Nonsense is what it is for: it need not be of the type that the caller expects.
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
