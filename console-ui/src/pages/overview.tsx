/** The overview: throughput, latency, backlog and open issues. */
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { Overview, OverviewHistory, Window } from "../../../src/console/contract.ts";
import { AttentionPreview } from "../parts/attention-preview.tsx";
import { LoadError, Skeleton } from "../parts/empty.tsx";
import { Meters } from "../parts/meters.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { BacklogPlot, LatencyPlot, plotStart, ThroughputPlot } from "../parts/plots.tsx";
import { recordBacklog } from "../store/backlog-samples.ts";
import { attentionCount, recordAttention } from "../store/attention-count.ts";
import { useResource } from "../store/resource.ts";
import { hrefOf, route, setQuery } from "../store/route.ts";
import { formatCount, formatDuration, formatTimes } from "../store/format.ts";
import type { Tone } from "../store/states.ts";

const WINDOWS: readonly Window[] = ["15m", "1h", "6h", "24h"];
/** What happens now matters most, and a young system has little more to show. */
const FIRST: Window = "15m";
/** The server shares one answer among all browsers. It is read now and then even without a notice. */
const LOOK_MS = 5_000;
const HISTORY_MS = 15_000;
/** Workers that keep up do not let due work wait for this long. */
const STUCK_MS = 60_000;
/** A worker that has just been started takes what is due within a moment. */
const UNTAKEN_MS = 10_000;

export function OverviewPage(): JSX.Element {
  const wanted = route.value.query.get("window");
  const window = WINDOWS.find((one) => one === wanted) ?? FIRST;
  const { data, loadError, reload } = useResource<Overview>(`overview?window=${window}`, ["overview"]);
  const history = useResource<OverviewHistory>(`overview/history?window=${window}`);
  const overview = data.value;
  useEffect(() => {
    if (!overview) return;
    recordBacklog(overview);
    recordAttention(overview.attention, overview.at);
  }, [overview]);
  useEffect(() => {
    const timer = setInterval(() => document.hidden || reload(), LOOK_MS);
    return () => clearInterval(timer);
  }, [reload]);
  useEffect(() => {
    const timer = setInterval(() => document.hidden || history.reload(), HISTORY_MS);
    return () => clearInterval(timer);
  }, [history.reload]);
  const failure = loadError.value;
  const startMs = plotStart(overview);
  return (
    <div class="page">
      <PageHead
        title="Overview"
        actions={
          <div class="segmented" role="group" aria-label="Window">
            {WINDOWS.map((one) => (
              <button
                key={one}
                type="button"
                aria-pressed={one === window}
                onClick={() => setQuery({ window: one === FIRST ? undefined : one })}
              >
                {one.replace(/(\d+)/u, "$1 ")}
              </button>
            ))}
          </div>
        }
      >
        <p>Throughput, latency and open issues.</p>
        {overview?.durability === "server" && (
          <p role="note">This server runs with fsync off: keeping commits is left to its storage.</p>
        )}
      </PageHead>
      {failure && !overview ? (
        <div class="card">
          <LoadError error={failure} retry={reload} />
        </div>
      ) : (
        <>
          <Tiles overview={overview} />
          <div class="plots">
            <ThroughputPlot overview={overview} />
            <LatencyPlot history={history.data.value} startMs={startMs} />
            <BacklogPlot history={history.data.value} startMs={startMs} />
          </div>
          <div class="split">
            <AttentionPreview />
            <Meters overview={overview} />
          </div>
        </>
      )}
    </div>
  );
}

function Tiles({ overview }: { readonly overview: Overview | undefined }): JSX.Element {
  if (!overview) {
    return (
      <div class="tiles" aria-busy="true">
        {["Needs attention", "Finished", "Latency", "Oldest overdue", "Open"].map((name) => (
          <Tile key={name} name={name} figure={<Skeleton width="72px" />} note={<Skeleton width="110px" />} />
        ))}
      </div>
    );
  }
  const { sagas, backlog, workers, runMsAgo, bucketMs } = overview;
  const attention = attentionCount.value ?? overview.attention;
  const ended = sagas.buckets.reduce((sum, one) => sum + one.completed + one.failed, 0);
  const failed = sagas.buckets.reduce((sum, one) => sum + one.failed, 0);
  // The time before a young system's first saga does not count.
  const first = sagas.buckets.findIndex((one) => one.completed + one.failed + one.stalled > 0);
  const minutes = Math.max(1, ((sagas.buckets.length - Math.max(0, first)) * bucketMs) / 60_000);
  const { p50Ms, p95Ms, sample } = sagas.latency;
  const hasNone = workers === 0 && runMsAgo === null;
  const isStuck = backlog.oldestMs > (hasNone ? UNTAKEN_MS : STUCK_MS);
  const open =
    sagas.byStatus.PENDING.value + sagas.byStatus.RUNNING.value + sagas.byStatus.COMPENSATING.value;
  return (
    <div class="tiles">
      <Tile
        name="Needs attention"
        href={hrefOf(["attention"])}
        tone={attention.value > 0 ? "rose" : undefined}
        figure={`${formatCount(attention.value)}${attention.exact ? "" : "+"}`}
        note={attention.value === 0 ? "All clear" : "Open the list"}
      />
      <Tile
        name="Finished"
        figure={
          <>
            {rate(ended / minutes)} <small>/ min</small>
          </>
        }
        note={ended === 0 ? "None in this window" : `${percent(failed / ended)} rolled back`}
      />
      <Tile
        name="Latency p95"
        figure={p95Ms === null ? "–" : figureOf(formatDuration(p95Ms))}
        note={
          p50Ms === null
            ? "None completed yet"
            : `p50 ${formatDuration(p50Ms)}, ${formatTimes(sample, "saga", "sagas")}`
        }
      />
      <Tile
        name="Oldest overdue item"
        tone={isStuck ? "copper" : undefined}
        figure={backlog.oldestMs === 0 ? "None" : figureOf(formatDuration(backlog.oldestMs))}
        note={
          backlog.due.value === 0
            ? "No backlog"
            : `${formatCount(backlog.due.value)}${backlog.due.exact ? "" : "+"} due now${isStuck && hasNone ? ", no worker runs" : ""}`
        }
      />
      <Tile
        name="Open sagas"
        href={hrefOf(["sagas"])}
        figure={formatCount(open)}
        note={`${formatCount(sagas.byStatus.COMPENSATING.value)} compensating`}
      />
    </div>
  );
}

interface TileProps {
  readonly name: string;
  readonly figure: JSX.Element | string;
  readonly note: JSX.Element | string;
  readonly tone?: Tone | undefined;
  readonly href?: string;
}

function Tile({ name, figure, note, tone, href }: TileProps): JSX.Element {
  const inside = (
    <>
      <span class="tile-name">{name}</span>
      <span class="tile-figure">{figure}</span>
      <span class="tile-note">{note}</span>
    </>
  );
  return href ? (
    <a class="card tile" data-tone={tone} href={href}>
      {inside}
    </a>
  ) : (
    <div class="card tile" data-tone={tone}>
      {inside}
    </div>
  );
}

/** The unit is smaller than its number. */
function figureOf(word: string): JSX.Element {
  return (
    <>
      {word.split(" ").map((part, index) => (index % 2 === 0 ? part : <small key={index}> {part} </small>))}
    </>
  );
}

const rate = (value: number): string => (value < 10 ? value.toFixed(1) : formatCount(Math.round(value)));
const percent = (share: number): string => `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;
