/** Figures about sagas, for dashboards, health checks and workers. */
import { countUpTo, type Count } from "../../core/count.ts";
import { CLAIMABLE, type SagaStatus } from "../../core/saga/machine.ts";
import { float, int, optional, text } from "../../storage/column.ts";
import type { Reader } from "../../storage/read/reader.ts";
import { projection } from "../../storage/table.ts";
import {
  countEnded,
  countOpenKinds,
  countStatuses,
  listDurations,
  sampleSpans,
  selectDue,
  type Spans,
} from "./figure-queries.ts";

export type { Spans };

export interface StatusCounts<Status extends SagaStatus> {
  readonly nowMs: number;
  readonly byStatus: Readonly<Record<Status, Count>>;
}

/** The open states are counted together: where that count stopped, none of their numbers is the whole. */
export async function countSagas<Status extends SagaStatus>(
  reader: Reader,
  statuses: readonly Status[],
  max: number,
): Promise<StatusCounts<Status>> {
  const [row] = await reader.query(countStatuses(reader.dialect, statuses, max));
  const isCut = Number(row?.["open"]) > max;
  const counts = statuses.map((status) => {
    const count = countUpTo(Number(row?.[status.toLowerCase()]), max);
    return [status, isCut && CLAIMABLE.includes(status) ? { ...count, exact: false } : count] as const;
  });
  return {
    nowMs: Number(row?.["now_at"]),
    byStatus: Object.fromEntries(counts) as unknown as Record<Status, Count>,
  };
}

const ENDED = projection({
  completed: int("completed"),
  failed: int("failed"),
  stalled: int("stalled"),
  reachedMs: optional(float("reached")),
});

export interface EndedInSpan {
  readonly completed: number;
  readonly failed: number;
  readonly stalled: number;
  /** When the last of the counted ones completed; undefined where none did. */
  readonly reachedMs: number | undefined;
}

/** How many sagas came to rest in each span, counted no further than `max`. */
export async function countEndedSagas(
  reader: Reader,
  spans: Spans,
  max: number,
): Promise<readonly EndedInSpan[]> {
  const statuses = ["COMPLETED", "FAILED", "STALLED"] as const;
  const rows = await reader.query(countEnded(reader.dialect, statuses, spans, max));
  return rows.map((row) => ENDED.read(row));
}

export interface CompletedSample {
  /** Which span, from 0. */
  readonly span: number;
  readonly tookMs: number;
  /** How long it had waited for its first worker. */
  readonly waitedMs: number;
}

const SAMPLE = projection({ span: int("n"), value: text("value") });

/** Some of the sagas that completed in each span. */
export async function sampleCompleted(
  reader: Reader,
  spans: Spans,
  sample: number,
): Promise<readonly CompletedSample[]> {
  const rows = await reader.query(sampleSpans(reader.dialect, spans, sample));
  return rows.map((row) => {
    const { span, value } = SAMPLE.read(row);
    const [tookMs = 0, waitedMs = 0] = value.split(" ").map(Number);
    return { span, tookMs, waitedMs };
  });
}

const DURATION = projection({ took: float("took") });

/** How long the newest sagas took, in milliseconds, of those that completed since an instant. */
export async function sagaDurations(
  reader: Reader,
  fromMs: number,
  limit: number,
): Promise<readonly number[]> {
  const rows = await reader.query(listDurations(reader.dialect, fromMs, limit));
  return rows.map((row) => DURATION.read(row).took);
}

export interface DueSagas {
  /** How long the oldest due saga has waited; 0 where none is due. */
  readonly oldestMs: number;
  readonly due: Count;
}

const DUE = projection({ sinceMs: optional(float("since")), due: int("due"), nowMs: float("now_at") });

export async function dueSagas(reader: Reader, max: number): Promise<DueSagas> {
  const found = (await reader.query(selectDue(reader.dialect, max))).map((row) => DUE.read(row));
  const waits = found.map(({ sinceMs, nowMs }) => (sinceMs === undefined ? 0 : Math.round(nowMs - sinceMs)));
  const count = found.reduce((sum, { due }) => sum + due, 0);
  return { oldestMs: Math.max(0, ...waits), due: countUpTo(count, max) };
}

const OPEN_KIND = projection({ name: text("name"), version: int("definition"), sagas: int("sagas") });

export interface OpenKind {
  readonly name: string;
  readonly version: number;
  readonly sagas: number;
}

/** Open sagas by the definition that they began with. */
export async function openKinds(reader: Reader): Promise<readonly OpenKind[]> {
  const rows = await reader.query(countOpenKinds(reader.dialect));
  return rows.map((row) => OPEN_KIND.read(row));
}
