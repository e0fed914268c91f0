/** One clock for all relative times: they change in the same frame, once a second. */
import { signal, type ReadonlySignal } from "@preact/signals";

const tick = signal(Date.now());
export const now: ReadonlySignal<number> = tick;

setInterval(() => {
  if (!document.hidden) tick.value = Date.now();
}, 1_000);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) tick.value = Date.now();
});
