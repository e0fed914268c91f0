/** The three plots of the overview. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Bucket, Overview, OverviewHistory } from "../../../src/console/contract.ts";
import { backlogSamples } from "../store/backlog-samples.ts";
import { formatCount, formatDuration } from "../store/format.ts";
import { Plot, type PlotSeries } from "./plot.tsx";

const THROUGHPUT: readonly PlotSeries[] = [
  { label: "completed", tone: "sea", kind: "bars" },
  { label: "rolled back", tone: "copper", kind: "bars" },
  { label: "stalled", tone: "rose", kind: "bars" },
];
const LATENCY: readonly PlotSeries[] = [
  { label: "p95", tone: "sky", kind: "line" },
  { label: "p50", tone: "sea", kind: "line" },
];
const BACKLOG: readonly PlotSeries[] = [{ label: "oldest overdue", tone: "copper", kind: "line" }];

function Legend({ series }: { readonly series: readonly PlotSeries[] }): JSX.Element {
  return (
    <div class="legend">
      {series.map(({ label, tone }) => (
        <span key={label} data-tone={tone}>
          <i />
          {label}
        </span>
      ))}
    </div>
  );
}

/** A system that is younger than the window begins at its first saga: an empty plot would look broken. */
const SHOWN_MIN = 12;

/** The instant from which the plots have something to show, in milliseconds. */
export function plotStart(overview: Overview | undefined): number {
  const buckets = overview?.sagas.buckets ?? [];
  const endedIn = ({ completed, failed, stalled }: Bucket): number => completed + failed + stalled;
  const first = buckets.findIndex((bucket) => endedIn(bucket) > 0);
  if (!overview || first < 0) return 0;
  const { COMPLETED, FAILED, STALLED } = overview.sagas.byStatus;
  const inWindow = buckets.reduce((sum, bucket) => sum + endedIn(bucket), 0);
  const isYoung = COMPLETED.exact && inWindow >= COMPLETED.value + FAILED.value + STALLED.value;
  const start = buckets[Math.max(0, Math.min(first - 1, buckets.length - SHOWN_MIN))];
  return isYoung && start ? Date.parse(start.at) : 0;
}

export function ThroughputPlot({ overview }: { readonly overview: Overview | undefined }): JSX.Element {
  // Bars are stacked: each is drawn from the ground to its top, the tallest first.
  const data = useMemo(() => {
    const startMs = plotStart(overview);
    const buckets = (overview?.sagas.buckets ?? []).filter(({ at }) => Date.parse(at) >= startMs);
    return [
      buckets.map(({ at }) => Date.parse(at) / 1_000),
      buckets.map(({ completed, failed, stalled }) => completed + failed + stalled),
      buckets.map(({ failed, stalled }) => failed + stalled),
      buckets.map(({ stalled }) => stalled),
    ];
  }, [overview]);
  const total = overview?.sagas.buckets.reduce((sum, one) => sum + one.completed, 0) ?? 0;
  const step = overview ? formatDuration(overview.bucketMs) : "";
  return (
    <section class="card" aria-label="Throughput">
      <div class="card-head">
        <h2>
          Finished sagas <span class="dim">{step && `per ${step}`}</span>
        </h2>
        <Legend series={THROUGHPUT} />
      </div>
      <Plot
        label="Finished sagas"
        data={data}
        series={THROUGHPUT}
        stacked
        height={190}
        format={formatCount}
        summary={`${formatCount(total)} completed in this window`}
      />
    </section>
  );
}

interface HistoryProps {
  readonly history: OverviewHistory | undefined;
  readonly startMs: number;
}

export function LatencyPlot({ history, startMs }: HistoryProps): JSX.Element {
  const data = useMemo(() => {
    const points = (history?.points ?? []).filter(({ at }) => Date.parse(at) >= startMs);
    return [
      points.map(({ at }) => Date.parse(at) / 1_000),
      points.map(({ p95Ms }) => p95Ms),
      points.map(({ p50Ms }) => p50Ms),
    ];
  }, [history, startMs]);
  const last = history?.points.findLast(({ p95Ms }) => p95Ms !== null)?.p95Ms ?? null;
  return (
    <section class="card" aria-label="Latency">
      <div class="card-head">
        <h2>
          Latency <span class="dim">{history && `per ${formatDuration(history.bucketMs)}`}</span>
        </h2>
        <Legend series={LATENCY} />
      </div>
      <Plot
        label="Latency"
        data={data}
        series={LATENCY}
        height={150}
        format={formatDuration}
        summary={last === null ? "none completed in this window" : `p95 was ${formatDuration(last)} lately`}
      />
    </section>
  );
}

/** Before the page was opened: the longest wait of stored sagas. Since then: the age of the oldest overdue item. */
export function BacklogPlot({ history, startMs }: HistoryProps): JSX.Element {
  const list = backlogSamples.value;
  const data = useMemo(() => {
    const openedMs = list[0]?.atMs ?? Number.POSITIVE_INFINITY;
    const before = (history?.points ?? [])
      .map(({ at, waitedMs }) => ({ atMs: Date.parse(at), oldestMs: waitedMs }))
      .filter(({ atMs }) => atMs < openedMs && atMs >= startMs);
    const all = [...before, ...list];
    return [all.map(({ atMs }) => atMs / 1_000), all.map(({ oldestMs }) => oldestMs)];
  }, [history, list, startMs]);
  const last = list.at(-1);
  return (
    <section class="card" aria-label="Backlog">
      <div class="card-head">
        <h2>Backlog age</h2>
        <Legend series={BACKLOG} />
      </div>
      <Plot
        label="Backlog age"
        data={data}
        series={BACKLOG}
        height={150}
        format={formatDuration}
        summary={
          last ? `the oldest overdue item has waited ${formatDuration(last.oldestMs)}` : "not known yet"
        }
      />
    </section>
  );
}
