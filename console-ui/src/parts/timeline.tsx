/** The timeline: a lane per act and per undo, and a flag for each event of the system or of an operator. */
import type { JSX } from "preact";
import type { SagaDetail, TimelineLine } from "../../../src/console/contract.ts";
import { now } from "../store/clock.ts";
import type { Tone } from "../store/states.ts";
import { formatDuration } from "../store/format.ts";
import { exactTip } from "./time.tsx";
import { axisTicks, scaleOf, timelineModel, type Bar, type Lane, type Scale } from "./time-axis.ts";

const percent = (share: number): string => `${(share * 100).toFixed(3)}%`;

export function TimeAxis({ saga }: { readonly saga: SagaDetail }): JSX.Element {
  const model = timelineModel(saga.timeline, saga.createdAt);
  const nowMs = model.running ? Math.max(now.value, model.toMs) : model.toMs;
  const scale = scaleOf(model, nowMs);
  const ticks = axisTicks(scale, model.fromMs, 6);
  return (
    <div class="axis" data-testid="axis">
      <div class="axis-head" aria-hidden="true">
        <span />
        <div class="axis-plot">
          {ticks.map((at) => (
            <span key={at} class="axis-tick num" style={{ left: percent(scale.at(at)) }}>
              {at === model.fromMs ? "0" : `+${formatDuration(at - model.fromMs)}`}
            </span>
          ))}
        </div>
      </div>
      <ul class="axis-lanes">
        {model.lanes.map((lane) => (
          <LaneRow key={lane.key} lane={lane} scale={scale} nowMs={nowMs} ticks={ticks} />
        ))}
        {model.marks.length > 0 && (
          <li class="lane" data-kind="marks">
            <span class="lane-name dim">System and operator</span>
            <div class="axis-plot">
              {model.marks.map(({ atMs, line }, index) => (
                <span
                  key={index}
                  class="flag"
                  data-tone={flagTone(line)}
                  data-tip={`${flagWord(line)}\n${exactTip(atMs)}`}
                  style={{ left: percent(scale.at(atMs)) }}
                >
                  <span class="sr">{flagWord(line)}</span>
                </span>
              ))}
            </div>
          </li>
        )}
      </ul>
    </div>
  );
}

interface LaneProps {
  readonly lane: Lane;
  readonly scale: Scale;
  readonly nowMs: number;
  readonly ticks: readonly number[];
}

function LaneRow({ lane, scale, nowMs, ticks }: LaneProps): JSX.Element {
  const undo = lane.action === "compensate";
  return (
    <li class="lane" data-undo={undo}>
      <span class="lane-name" data-tip={`${undo ? "undo of " : ""}${lane.name}`}>
        {undo && <span class="dim">undo </span>}
        {lane.name}
      </span>
      <div class="axis-plot">
        {ticks.map((at) => (
          <i key={at} class="grid-line" style={{ left: percent(scale.at(at)) }} />
        ))}
        {scale.pieces
          .filter((piece) => piece.cut)
          .map((piece) => (
            <i
              key={piece.fromMs}
              class="axis-cut"
              style={{ left: percent(piece.from), width: percent(piece.to - piece.from) }}
              data-tip={`${formatDuration(piece.toMs - piece.fromMs)} without a call`}
            />
          ))}
        {lane.bars.map((bar, index) => (
          <BarMark key={index} bar={bar} undo={undo} scale={scale} nowMs={nowMs} />
        ))}
      </div>
    </li>
  );
}

interface BarProps {
  readonly bar: Bar;
  readonly undo: boolean;
  readonly scale: Scale;
  readonly nowMs: number;
}

function BarMark({ bar, undo, scale, nowMs }: BarProps): JSX.Element {
  const from = scale.at(bar.fromMs);
  const to = scale.at(bar.toMs ?? nowMs);
  const span = formatDuration((bar.toMs ?? nowMs) - bar.fromMs);
  const end = bar.toMs === undefined ? "running for" : bar.status === "FAILED" ? "failed after" : "done in";
  const note = bar.note === null ? "" : `: ${bar.note}`;
  return (
    <span
      class="bar"
      data-tone={barTone(bar, undo)}
      data-live={bar.toMs === undefined}
      data-tip={`${end} ${span}${note}\n${exactTip(bar.fromMs)}`}
      style={{ left: percent(from), width: percent(to - from) }}
    >
      <span class="bar-word num" data-side={to > 0.8 ? "left" : "right"}>
        <span class="sr">{end} </span>
        {span}
      </span>
    </span>
  );
}

function barTone({ status, toMs }: Bar, undo: boolean): Tone {
  if (toMs !== undefined && status === "FAILED") return "rose";
  if (undo) return "copper";
  return toMs === undefined ? "sky" : "sea";
}

function flagTone({ name }: TimelineLine): Tone {
  if (name === "stall") return "rose";
  if (name === "turn" || name === "cancel") return "copper";
  return name === "claim" || name === "release" ? "stone" : "sky";
}

const flags: Readonly<Record<string, string>> = {
  claim: "claimed by a worker",
  release: "released by a worker that shut down",
  cancel: "cancelled",
  turn: "rollback started",
  stall: "stalled",
  retry: "retried",
  skip: "skipped",
  resolve: "resolved by hand",
  expire: "deadline exceeded",
  return: "an overdue call returned",
};

export function flagWord({ name, step, by, note }: TimelineLine): string {
  const parts = [flags[name] ?? name, step && `at ${step}`, by && `by ${by}`].filter(Boolean).join(" ");
  return note ? `${parts}: ${note}` : parts;
}

/** The same as a list, for reading and for screen readers. */
export function EventLog({ saga }: { readonly saga: SagaDetail }): JSX.Element {
  const startMs = Date.parse(saga.createdAt);
  return (
    <ol class="event-log">
      {saga.timeline.map((line, index) => {
        const atMs = Date.parse(line.at);
        return (
          <li key={index} data-tone={lineTone(line)}>
            <span class="event-at num dim" data-tip={exactTip(atMs)}>
              +{formatDuration(atMs - startMs)}
            </span>
            <i class="event-dot" />
            <span class="event-word">
              {line.kind === "control" ? (
                flagWord(line)
              ) : (
                <>
                  {line.action === "compensate" ? "undo of " : ""}
                  <strong>{line.name}</strong> {statusWords[line.status]}
                  {line.note && <code class="tag">{line.note}</code>}
                </>
              )}
            </span>
          </li>
        );
      })}
    </ol>
  );
}

const statusWords: Readonly<Record<TimelineLine["status"], string>> = {
  STARTED: "started",
  COMPLETED: "completed",
  FAILED: "failed",
};

function lineTone(line: TimelineLine): Tone {
  if (line.kind === "control") return flagTone(line);
  if (line.status === "FAILED") return "rose";
  if (line.action === "compensate") return "copper";
  return line.status === "STARTED" ? "sky" : "sea";
}
