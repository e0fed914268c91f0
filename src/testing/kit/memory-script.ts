/** What a system in memory was asked, and what it does the next time: fail, hang, answer nonsense, or be down. */
import type { SubjectRef } from "../../core/outbox/entry.ts";
import type { ResolverCall } from "../../erasure/remote/resolver.ts";

export interface MemoryCall {
  readonly operation: "erase" | "rectify" | "verify" | "schedule";
  readonly key: string;
  readonly attempt: number;
  readonly ref: SubjectRef;
}

export type MemoryTrouble =
  /** Nothing happens, and this is thrown. */
  | { readonly throws: unknown }
  /** Nothing happens, and this is the answer. */
  | { readonly answers: unknown }
  /** Nothing happens, and nothing is heard until the call is aborted. */
  | { readonly hangs: true }
  /** It happens, and nobody hears of it: the case that idempotency keys are for. */
  | { readonly losesReply: true };

export interface MemoryScript {
  /** Every call, in the order in which they came. */
  readonly calls: readonly MemoryCall[];
  callsUnder(key: string): readonly MemoryCall[];
  /** The next calls, one unless said otherwise, go wrong in this way. Several add up. */
  troubleNext(trouble: MemoryTrouble, times?: number): void;
  /** From now on every call fails, or goes wrong as given, before what `troubleNext` said. */
  goDown(trouble?: MemoryTrouble): void;
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
