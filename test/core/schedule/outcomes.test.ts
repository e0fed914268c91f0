/** What is recorded of the ticks of a round, and which sagas they start. */
import { expect, it } from "vitest";
import { roundOutcome, type RoundFacts } from "../../../src/core/schedule/outcomes.ts";

const T = Date.parse("2026-11-18T02:00:00Z");
const HOUR = 3_600_000;

const FACTS: RoundFacts = {
  name: "s",
  overlap: "skip",
  nowMs: T,
  runId: undefined,
  openSagaId: undefined,
  ticks: 7,
  last: undefined,
  due: { start: [T], missed: undefined, next: undefined, caughtUp: 0 },
};

const due = (...start: readonly number[]): RoundFacts["due"] => ({
  start,
  missed: undefined,
  next: undefined,
  caughtUp: 0,
});

it("[S-41] a tick starts one saga, whose id says the tick", () => {
  expect(roundOutcome(FACTS)).toEqual({
    sagaIds: ["s@2026-11-18T02:00:00Z"],
    records: [
      { number: 7, at: T, until: T, outcome: "started", isRun: false, sagaId: "s@2026-11-18T02:00:00Z" },
    ],
    ticks: 8,
  });
});

it("[S-41] a tick is skipped while an earlier saga is open, and skipped ticks in a row are one record", () => {
  const first = roundOutcome({ ...FACTS, openSagaId: "s@before" });
  expect(first).toMatchObject({
    sagaIds: [],
    records: [{ number: 7, at: T, until: T, outcome: "skipped", sagaId: "s@before" }],
    ticks: 8,
  });
  const again = roundOutcome({
    ...FACTS,
    openSagaId: "s@before",
    ticks: 8,
    last: first.records[0],
    due: due(T + HOUR, T + 2 * HOUR),
  });
  expect(again.records).toEqual([{ ...first.records[0], until: T + 2 * HOUR }]);
  expect(again.ticks).toBe(8);
});

it("[S-41] of several ticks at once, the first starts and makes the others overlap; with allow, all start", () => {
  const ticks = { ...FACTS, due: due(T, T + HOUR) };
  expect(roundOutcome(ticks).records.map(({ outcome }) => outcome)).toEqual(["started", "skipped"]);
  expect(roundOutcome({ ...ticks, overlap: "allow", openSagaId: "s@before" }).sagaIds).toHaveLength(2);
});

it("[S-41] missed ticks are recorded as one range, in the order of time", () => {
  const missed = { fromMs: T - 3 * HOUR, toMs: T - HOUR };
  const { records } = roundOutcome({ ...FACTS, due: { start: [T], missed, next: undefined, caughtUp: 0 } });
  expect(records).toMatchObject([
    { number: 7, at: T - 3 * HOUR, until: T - HOUR, outcome: "missed", sagaId: undefined },
    { number: 8, at: T, outcome: "started" },
  ]);
});

it("[S-41] a run that was asked for is a record of its own", () => {
  const { sagaIds, records } = roundOutcome({ ...FACTS, runId: "s@run-1", due: undefined });
  expect(sagaIds).toEqual(["s@run-1"]);
  expect(records).toMatchObject([{ at: T, outcome: "started", isRun: true, sagaId: "s@run-1" }]);
  const skipped = roundOutcome({ ...FACTS, runId: "s@run-1", openSagaId: "s@open", due: due(T) });
  expect(skipped.records).toMatchObject([
    { outcome: "skipped", isRun: true, sagaId: "s@open" },
    { outcome: "skipped", isRun: false, sagaId: "s@open" },
  ]);
});
