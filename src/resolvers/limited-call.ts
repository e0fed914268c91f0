/**
 * One call to an outside system, which ends when it is told to. What does not listen to its signal is left to itself:
 * the caller hears of the end at once, and whatever the other side still does is repeated under the same key.
 */
import { RetryLater } from "../core/errors.ts";
import { systemClock, type Clock } from "../storage/clock.ts";

export interface CallLimits {
  readonly clock?: Clock;
  readonly timeoutMs: number;
  /** What is stored where the time is up. */
  readonly timeoutLabel: string;
}

export async function limitedCall<T>(
  limits: CallLimits,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const { clock = systemClock, timeoutMs, timeoutLabel } = limits;
  const own = new AbortController();
  let cancelTimer: (() => void) | undefined;
  let forget: (() => void) | undefined;
  const ended = new Promise<never>((_, reject) => {
    const stop = (): void => {
      reject(signal.reason as Error);
      own.abort();
    };
    signal.addEventListener("abort", stop, { once: true });
    forget = () => signal.removeEventListener("abort", stop);
    cancelTimer = clock.after(timeoutMs, () => {
      reject(new RetryLater(timeoutLabel, `There was no answer within ${timeoutMs} ms.`));
      own.abort();
    });
  });
  try {
    return await Promise.race([ended, work(own.signal)]);
  } finally {
    cancelTimer?.();
    forget?.();
  }
}
