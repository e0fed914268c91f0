/** The three plots of the overview. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Overview, OverviewHistory } from "../../../src/console/contract.ts";
import { backlogSamples } from "../store/backlog-samples.ts";
import { formatCount, formatDuration } from "../store/format.ts";
import { Plot, type PlotSeries } from "./plot.tsx";

const THROUGHPUT: readonly PlotSeries[] = [
  { label: "completed", tone: "sea", kind: "bars" },
  { label: "failed, undone", tone: "copper", kind: "bars" },
  { label: "stalled", tone: "rose", kind: "bars" },
];
const LATENCY: readonly PlotSeries[] = [
  { label: "95th percentile", tone: "sky", kind: "line" },
  { label: "median", tone: "sea", kind: "line" },
];
const BACKLOG: readonly PlotSeries[] = [{ label: "oldest due", tone: "copper", kind: "line" }];

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

export function ThroughputPlot({ overview }: { readonly overview: Overview | undefined }): JSX.Element {
  // Bars stand upon one another: each is drawn from the ground to its top, the tallest first.
  const data = useMemo(() => {
    const buckets = overview?.sagas.buckets ?? [];
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
}

export function LatencyPlot({ history }: HistoryProps): JSX.Element {
  const data = useMemo(() => {
    const points = history?.points ?? [];
    return [
      points.map(({ at }) => Date.parse(at) / 1_000),
      points.map(({ p95Ms }) => p95Ms),
      points.map(({ p50Ms }) => p50Ms),
    ];
  }, [history]);
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
        summary={
          last === null
            ? "nothing completed in this window"
            : `the 95th percentile was ${formatDuration(last)} lately`
        }
      />
    </section>
  );
}

/** What is stored says how long work had waited; from when the page was opened on, it is how long the oldest waits. */
export function BacklogPlot({ history }: HistoryProps): JSX.Element {
  const list = backlogSamples.value;
  const data = useMemo(() => {
    const openedMs = list[0]?.atMs ?? Number.POSITIVE_INFINITY;
    const before = (history?.points ?? [])
      .map(({ at, waitedMs }) => ({ atMs: Date.parse(at), oldestMs: waitedMs }))
      .filter(({ atMs }) => atMs < openedMs);
    const all = [...before, ...list];
    return [all.map(({ atMs }) => atMs / 1_000), all.map(({ oldestMs }) => oldestMs)];
  }, [history, list]);
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
        summary={last ? `the oldest due work has waited ${formatDuration(last.oldestMs)}` : "not known yet"}
      />
    </section>
  );
}
