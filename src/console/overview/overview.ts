/** The figures of the first page. Each is read from an index and counted up to a bound, so that none grows with the past. */
import { sagaMachine } from "../../core/saga/machine.ts";
import { countRuns } from "../../events/read/list.ts";
import { workersOf } from "../../operate/workers.ts";
import { countEntries } from "../../outbox/read/figures.ts";
import {
  countEndedSagas,
  countSagas,
  dueSagas,
  sagaDurations,
  type EndedInSpan,
  type Spans,
} from "../../sagas/read/figures.ts";
import { countDeliveries } from "../../webhooks/read/list.ts";
import type { ConsoleContext } from "../context.ts";
import type { Bucket, Latency, Overview, Window } from "../contract.ts";
import { iso } from "../sagas/lines.ts";

export const WINDOWS: Readonly<Record<Window, Pick<Spans, "widthMs" | "count">>> = {
  "15m": { widthMs: 15_000, count: 60 },
  "1h": { widthMs: 60_000, count: 60 },
  "6h": { widthMs: 300_000, count: 72 },
  "24h": { widthMs: 1_200_000, count: 72 },
};

export const COUNT_MAX = 5_000;
const BUCKET_MAX = 250;
const SAMPLE_MAX = 1_000;

/** The spans of a window begin at whole multiples of their width, so that bars do not change while time goes by. */
export function spansOf(window: Window, nowMs: number): Spans {
  const { widthMs, count } = WINDOWS[window];
  return { fromMs: (Math.floor(nowMs / widthMs) - count + 1) * widthMs, widthMs, count };
}

export async function overviewOf(context: ConsoleContext, window: Window): Promise<Overview> {
  const { reader, db } = context;
  await db.open();
  const { nowMs, byStatus } = await countSagas(reader, sagaMachine.states, COUNT_MAX);
  const spans = spansOf(window, nowMs);
  const workers = await workersOf(reader);
  const ended = await countEndedSagas(reader, spans, BUCKET_MAX);
  return {
    at: iso(nowMs),
    window,
    bucketMs: spans.widthMs,
    sagas: {
      byStatus,
      buckets: ended.map((counts, index) => bucketOf(counts, index, spans)),
      latency: latencyOf(await sagaDurations(reader, spans.fromMs, SAMPLE_MAX)),
    },
    backlog: await dueSagas(reader, COUNT_MAX),
    workers: workers.running,
    runMsAgo: workers.runMsAgo ?? null,
    outbox: await countEntries(reader, COUNT_MAX),
    flows: await countRuns(reader, COUNT_MAX),
    deliveries: await countDeliveries(reader, COUNT_MAX),
    attention: (await context.attention()).total,
    ...(db.access?.trustsServer === true && { durability: "server" }),
  };
}

/** Where counting stopped, the pace up to there stands for the rest of the span. */
function bucketOf(counts: EndedInSpan, index: number, { fromMs, widthMs }: Spans): Bucket {
  const { completed, failed, stalled, reachedMs = 0 } = counts;
  const startMs = fromMs + index * widthMs;
  const isCut = completed >= BUCKET_MAX;
  return {
    at: iso(startMs),
    completed: isCut ? Math.round((completed * widthMs) / Math.max(1, reachedMs - startMs)) : completed,
    failed,
    stalled,
    exact: [completed, failed, stalled].every((value) => value < BUCKET_MAX),
  };
}

function latencyOf(durations: readonly number[]): Latency {
  return { p50Ms: percentile(durations, 0.5), p95Ms: percentile(durations, 0.95), sample: durations.length };
}

export function percentile(durations: readonly number[], part: number): number | null {
  const sorted = durations.toSorted((a, b) => a - b);
  return sorted.length === 0 ? null : Math.round(sorted[Math.ceil(part * sorted.length) - 1] as number);
}
