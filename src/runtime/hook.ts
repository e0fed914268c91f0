/** Calls a hook of the user's, which can neither fail nor delay the work that it is told of. */
import { within, type Clock } from "../storage/clock.ts";

const HOOK_MS = 1_000;

/** True where the hook neither threw nor took too long to be waited for. */
export async function tryHook(clock: Clock, hook: () => unknown): Promise<boolean> {
  let isFine = false;
  const told = (async () => {
    await hook();
    isFine = true;
  })().catch(() => undefined);
  await within(clock, HOOK_MS, told);
  return isFine;
}
