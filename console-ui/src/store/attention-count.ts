/**
 * How many items need attention, as the badge, the tab's title and the overview show it. Three answers know it: live
 * notices, the overview, and the attention list itself. The newest one counts; while a whole list is on the screen the
 * badge is its length, so that the two cannot disagree.
 */
import { computed, signal, type ReadonlySignal } from "@preact/signals";
import type { Count } from "../../../src/console/contract.ts";

const known = signal<Count | undefined>(undefined);
const listed = signal<number | undefined>(undefined);
let knownAtMs = 0;

export const attentionCount: ReadonlySignal<Count | undefined> = computed(() =>
  listed.value === undefined ? known.value : { value: listed.value, exact: true },
);

/** True if the count is another one than before. `at` is the server's instant: an older answer changes nothing. */
export function recordAttention(count: Count, at: string): boolean {
  const atMs = Date.parse(at);
  if (atMs < knownAtMs) return false;
  knownAtMs = atMs;
  const before = known.peek();
  known.value = count;
  return before !== undefined && before.value !== count.value;
}

/** The length of the whole list that is shown; undefined once it is not, or only a part of it. */
export function recordAttentionList(length: number | undefined): void {
  listed.value = length;
}
