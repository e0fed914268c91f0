/** The ticks of a schedule as people read them. */
import type { NextTick, ScheduleDetail, ScheduleTick } from "../../console/contract-parts.ts";
import { ink, paint, type Colour, type Ink } from "./ink.ts";
import type { Output } from "./output.ts";
import { ago, state } from "./words.ts";

const OUTCOMES: Readonly<Record<ScheduleTick["outcome"], Colour>> = {
  started: "green",
  skipped: "yellow",
  missed: "red",
};

/** `started 5 h ago COMPLETED`: of a skipped tick, the saga that was open. */
export function tickText({ outcome, until, at, sagaStatus }: ScheduleTick, nowMs: number): Ink {
  const when = ago(until ?? at, nowMs);
  const of = sagaStatus === null || outcome !== "started" ? ink`` : ink` ${state(sagaStatus)}`;
  return ink`${paint(OUTCOMES[outcome], outcome)} ${when}${of}`;
}

export function nextText({ at, beginsAt }: NextTick, nowMs: number): string {
  const later = beginsAt === at ? "" : `, begins ${beginsAt}`;
  return `${at}${later} (${ago(beginsAt, nowMs)})`;
}

export function ticksTable(output: Output, { lastTicks }: ScheduleDetail): void {
  output.table(
    [
      { title: "TICK" },
      { title: "UNTIL" },
      { title: "OUTCOME" },
      { title: "STATUS" },
      { title: "SAGA", least: 8 },
    ],
    lastTicks.map(({ at, until, outcome, run, sagaStatus, sagaId }) => [
      ink`${at}`,
      ink`${until ?? ""}`,
      ink`${paint(OUTCOMES[outcome], outcome)}${run ? " (run)" : ""}`,
      sagaStatus === null ? ink`` : state(sagaStatus),
      ink`${sagaId ?? ""}`,
    ]),
    "  ",
  );
}
