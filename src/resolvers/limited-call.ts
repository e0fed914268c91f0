/**
 * One call to an outside system with a timeout and an abort signal. A call that ignores its signal is not waited
 * for: the caller gets the abort at once, and a retry repeats the call with the same idempotency key.
 */
import { RetryLater } from "../core/errors.ts";
import { systemClock, type Clock } from "../storage/clock.ts";

export interface CallLimits {
  readonly clock?: Clock;
  readonly timeoutMs: number;
  /** The stored label of a timeout. */
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
