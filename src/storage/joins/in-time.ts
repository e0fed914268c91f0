/** A limit for a wait that another library may never end. The clock is the real one: a virtual clock does not move for it. */
import { systemClock } from "../clock.ts";

export async function inTime<T>(work: Promise<T>, limitMs: number, refusal: () => Error): Promise<T> {
  let cancel: (() => void) | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    cancel = systemClock.after(limitMs, () => reject(refusal()));
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    cancel?.();
  }
}
