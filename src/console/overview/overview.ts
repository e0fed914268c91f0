/** The figures of the first page. Each is read from an index and counted up to a bound, so that none grows with the past. */
import { OUTBOX_KINDS } from "../../core/outbox/entry.ts";
import { outboxMachine } from "../../core/outbox/machine.ts";
import { CLAIMABLE, sagaMachine, type SagaStatus } from "../../core/saga/machine.ts";
import type { Row } from "../../storage/database.ts";
import { deliveryMachine } from "../../core/delivery/machine.ts";
import { flowMachine, OPEN_FLOWS } from "../../core/flow/machine.ts";
import { ageOf } from "../../operate/backlog.ts";
import { selectDueSagas } from "../../operate/backlog-queries.ts";
import { countAttention } from "../attention/queries.ts";
import type { Bucket, Count, Latency, Overview, Window } from "../contract.ts";
import { countOf, type ConsoleContext } from "../context.ts";
import { countEntries } from "../outbox/queries.ts";
import { countFlows } from "../flows/queries.ts";
import { iso } from "../sagas/lines.ts";
import { countBuckets, countStatuses, listDurations } from "../sagas/queries.ts";
import { countDeliveries } from "../webhooks/queries.ts";

interface Span {
  readonly widthMs: number;
  readonly count: number;
}

export const WINDOWS: Readonly<Record<Window, Span>> = {
  "15m": { widthMs: 15_000, count: 60 },
  "1h": { widthMs: 60_000, count: 60 },
  "6h": { widthMs: 300_000, count: 72 },
  "24h": { widthMs: 1_200_000, count: 72 },
};

export const COUNT_MAX = 5_000;
const OPEN_ENTRIES = outboxMachine.states.filter((state) => !outboxMachine.isTerminal(state));
const BUCKET_MAX = 250;
const SAMPLE_MAX = 1_000;

/** Where the first stretch begins. They are whole, so that bars do not change while time goes by; the last is under way. */
export function stretchesOf(window: Window, nowMs: number): number {
  const { widthMs, count } = WINDOWS[window];
  return (Math.floor(nowMs / widthMs) - count + 1) * widthMs;
}

export async function overviewOf(context: ConsoleContext, window: Window): Promise<Overview> {
  const { dialect } = context.db;
  const { widthMs, count } = WINDOWS[window];
  const [counts = {}] = await context.query(countStatuses(dialect, sagaMachine.states, COUNT_MAX));
  const nowMs = Number(counts["now_at"]);
  const fromMs = stretchesOf(window, nowMs);
  const buckets = await context.query(
    countBuckets(dialect, ["COMPLETED", "FAILED", "STALLED"], { fromMs, widthMs, count, max: BUCKET_MAX }),
  );
  const durations = await context.query(listDurations(dialect, fromMs, SAMPLE_MAX));
  const byStatus = Object.fromEntries(
    sagaMachine.states.map((status) => [status, statusCount(counts, status)]),
  ) as Overview["sagas"]["byStatus"];
  const [entries = {}] = await context.query(countEntries(dialect, OUTBOX_KINDS, COUNT_MAX));
  const outbox = Object.fromEntries(
    OPEN_ENTRIES.map((status) => [status, countOf(entries[status], COUNT_MAX)]),
  ) as NonNullable<Overview["outbox"]>;
  return {
    at: iso(nowMs),
    window,
    bucketMs: widthMs,
    sagas: {
      byStatus,
      buckets: buckets.map((row) => bucketOf(row, fromMs, widthMs)),
      latency: latencyOf(durations.map((row) => Number(row["took"]))),
    },
    backlog: backlogOf(await context.query(selectDueSagas(dialect, COUNT_MAX))),
    outbox,
    flows: await flowsOf(context),
    deliveries: await deliveriesOf(context),
    attention: await attentionOf(context),
  };
}

/** Open ones are counted together: where that stopped, none of their numbers is the whole. */
function statusCount(counts: Row, status: SagaStatus): Count {
  const count = countOf(counts[status.toLowerCase()], COUNT_MAX);
  return CLAIMABLE.includes(status) && Number(counts["open"]) > COUNT_MAX
    ? { ...count, exact: false }
    : count;
}

/** Open ones are counted together, as those of sagas are. */
async function flowsOf({ db, query }: ConsoleContext): Promise<NonNullable<Overview["flows"]>> {
  const [counts = {}] = await query(countFlows(db.dialect, COUNT_MAX));
  const isCut = Number(counts["open"]) > COUNT_MAX;
  const entries = flowMachine.states.map((status) => {
    const count = countOf(counts[status], COUNT_MAX);
    return [status, isCut && OPEN_FLOWS.includes(status) ? { ...count, exact: false } : count];
  });
  return Object.fromEntries(entries) as NonNullable<Overview["flows"]>;
}

async function deliveriesOf({ db, query }: ConsoleContext): Promise<NonNullable<Overview["deliveries"]>> {
  const [counts = {}] = await query(countDeliveries(db.dialect, COUNT_MAX));
  const entries = deliveryMachine.states.map((status) => [
    status,
    countOf(counts[status.toLowerCase()], COUNT_MAX),
  ]);
  return Object.fromEntries(entries) as NonNullable<Overview["deliveries"]>;
}

/** How much needs a person altogether. */
async function attentionOf(context: ConsoleContext): Promise<Count> {
  const [row] = await context.query(countAttention(context.db.dialect, COUNT_MAX + 1));
  return countOf(Number(row?.["number"]) + (await context.overdue()), 2 * COUNT_MAX);
}

/** Where counting stopped, the pace up to there stands for the rest of the stretch. */
function bucketOf(row: Row, fromMs: number, widthMs: number): Bucket {
  const startMs = fromMs + Number(row["n"]) * widthMs;
  const counted = {
    completed: Number(row["completed"]),
    failed: Number(row["failed"]),
    stalled: Number(row["stalled"]),
  };
  const exact = Object.values(counted).every((value) => value < BUCKET_MAX);
  const spanMs = Math.max(1, Number(row["reached"]) - startMs);
  const completed =
    counted.completed < BUCKET_MAX ? counted.completed : Math.round((counted.completed * widthMs) / spanMs);
  return { at: iso(startMs), ...counted, completed, exact };
}

export function backlogOf(rows: readonly Row[]): Overview["backlog"] {
  const due = rows.reduce((sum, row) => sum + Number(row["due"]), 0);
  return { oldestMs: Math.max(0, ...rows.map(ageOf)), due: countOf(due, COUNT_MAX) };
}

function latencyOf(durations: readonly number[]): Latency {
  return { p50Ms: percentile(durations, 0.5), p95Ms: percentile(durations, 0.95), sample: durations.length };
}

export function percentile(durations: readonly number[], part: number): number | null {
  const sorted = durations.toSorted((a, b) => a - b);
  return sorted.length === 0 ? null : Math.round(sorted[Math.ceil(part * sorted.length) - 1] as number);
}
