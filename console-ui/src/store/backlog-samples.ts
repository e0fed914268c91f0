/** The age of the backlog over time: the server knows it as of now, and the page keeps what it has seen. */
import { signal, type ReadonlySignal } from "@preact/signals";
import type { Overview } from "../../../src/console/contract.ts";

export interface Sample {
  readonly atMs: number;
  readonly oldestMs: number;
}

const SAMPLES_MAX = 600;
const APART_MS = 900;
const list = signal<readonly Sample[]>([]);
export const backlogSamples: ReadonlySignal<readonly Sample[]> = list;

export function recordBacklog(overview: Overview): void {
  const atMs = Date.parse(overview.at);
  const last = list.value.at(-1);
  if (last && atMs - last.atMs < APART_MS) return;
  list.value = [...list.value.slice(-SAMPLES_MAX + 1), { atMs, oldestMs: overview.backlog.oldestMs }];
}
