/** Figures that the server gives as of now, remembered for as long as the page is open, so that they can be plotted. */
import { signal, type ReadonlySignal } from "@preact/signals";
import type { Overview } from "../../../src/console/contract.ts";

export interface Sample {
  readonly atMs: number;
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  readonly oldestMs: number;
}

const SAMPLES_MAX = 600;
const APART_MS = 900;
const list = signal<readonly Sample[]>([]);
export const samples: ReadonlySignal<readonly Sample[]> = list;
let window = "";

export function remember(overview: Overview): void {
  // The latency is that of the window: another window begins another line.
  if (window !== overview.window) list.value = [];
  window = overview.window;
  const atMs = Date.parse(overview.at);
  const last = list.value.at(-1);
  if (last && atMs - last.atMs < APART_MS) return;
  const { p50Ms, p95Ms } = overview.sagas.latency;
  list.value = [
    ...list.value.slice(-SAMPLES_MAX + 1),
    { atMs, p50Ms, p95Ms, oldestMs: overview.backlog.oldestMs },
  ];
}
