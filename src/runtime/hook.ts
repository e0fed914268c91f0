/** Calls an application hook. The hook's errors and delays do not affect the work that it reports. */
import { within, type Clock } from "../storage/clock.ts";

const HOOK_MS = 1_000;

/** True if the hook returned in time without an error. */
export async function tryHook(clock: Clock, hook: () => unknown): Promise<boolean> {
  let isFine = false;
  const called = (async () => {
    await hook();
    isFine = true;
  })().catch(() => undefined);
  await within(clock, HOOK_MS, called);
  return isFine;
}
