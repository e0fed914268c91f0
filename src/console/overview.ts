/** The figures of the first page. Each is read from an index and counted up to a bound, so that none grows with the past. */
import { OUTBOX_KINDS } from "../core/outbox/entry.ts";
import { outboxMachine } from "../core/outbox/machine.ts";
import { CLAIMABLE, sagaMachine, type SagaStatus } from "../core/saga/machine.ts";
import type { Row } from "../storage/database.ts";
import type { Bucket, Count, Latency, Overview, Window } from "./contract.ts";
import { countOf, type Office } from "./office.ts";
import { countEntries } from "./outbox-queries.ts";
import { iso } from "./saga-lines.ts";
import { countBuckets, countStatuses, listDurations, selectBacklog } from "./saga-queries.ts";

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

export async function overviewOf(office: Office, window: Window): Promise<Overview> {
  const { dialect } = office.db;
  const { widthMs, count } = WINDOWS[window];
  const [counts = {}] = await office.query(countStatuses(dialect, sagaMachine.states, COUNT_MAX));
  const nowMs = Number(counts["now_at"]);
  // Whole stretches, so that bars do not change while time goes by; the last one is under way.
  const fromMs = (Math.floor(nowMs / widthMs) - count + 1) * widthMs;
  const buckets = await office.query(
    countBuckets(dialect, ["COMPLETED", "FAILED", "STALLED"], { fromMs, widthMs, count, max: BUCKET_MAX }),
  );
  const durations = await office.query(listDurations(dialect, fromMs, SAMPLE_MAX));
  const byStatus = Object.fromEntries(
    sagaMachine.states.map((status) => [status, statusCount(counts, status)]),
  ) as Overview["sagas"]["byStatus"];
  const [entries = {}] = await office.query(countEntries(dialect, OUTBOX_KINDS, COUNT_MAX));
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
    backlog: backlogOf(await office.query(selectBacklog(dialect, COUNT_MAX))),
    outbox,
    flows: null,
    deliveries: null,
    attention: sumOf(byStatus.STALLED, outbox.abandoned, { value: await office.overdue(), exact: true }),
  };
}

/** Open ones are counted together: where that stopped, none of their numbers is the whole. */
function statusCount(counts: Row, status: SagaStatus): Count {
  const count = countOf(counts[status.toLowerCase()], COUNT_MAX);
  return CLAIMABLE.includes(status) && Number(counts["open"]) > COUNT_MAX
    ? { ...count, exact: false }
    : count;
}

/** How many there are altogether; at least, where one of them is not known exactly. */
export function sumOf(...counts: readonly Count[]): Count {
  return {
    value: counts.reduce((sum, { value }) => sum + value, 0),
    exact: counts.every(({ exact }) => exact),
  };
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
  let oldestMs = 0;
  let due = 0;
  for (const row of rows) {
    due += Number(row["due"]);
    if (row["since"] !== null) oldestMs = Math.max(oldestMs, Number(row["now_at"]) - Number(row["since"]));
  }
  return { oldestMs: Math.round(oldestMs), due: countOf(due, COUNT_MAX) };
}

function latencyOf(durations: readonly number[]): Latency {
  const sorted = durations.toSorted((a, b) => a - b);
  const at = (part: number): number | null =>
    sorted.length === 0 ? null : Math.round(sorted[Math.ceil(part * sorted.length) - 1] as number);
  return { p50Ms: at(0.5), p95Ms: at(0.95), sample: sorted.length };
}
