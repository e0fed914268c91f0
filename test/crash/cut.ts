/** Runs of a scenario in which the database refuses a write before it is made, or makes it and loses the answer. */
import { runLane, type LaneReport } from "./lane.ts";
import type { Place } from "./place.ts";
import type { Point, Reach } from "./probe.ts";
import { Recovery } from "./recovery.ts";
import type { Scenario } from "./scenario.ts";

/** A claim whose answer was lost is taken up when this is over. */
const CALM_LEASE_MS = 3_000;

/** What a driver throws where nothing was committed, and where that is not known. */
export const TROUBLE = {
  postgres: { before: "40001", after: "ECONNRESET" },
  sqlite: { before: "SQLITE_BUSY", after: "SQLITE_IOERR" },
} as const;

/** The points that lie before and after each commit. */
export function durable(points: readonly Point[]): readonly Point[] {
  return points.filter(({ name }) => /^(?:write|commit) /.test(name));
}

export function run(place: Place, scenario: Scenario, reach: Reach): Promise<LaneReport> {
  return runLane({ place, scenario, reach, leaseMs: CALM_LEASE_MS, cancel: async () => undefined });
}

export function cutAt({ name }: Point, dialect: Place["dialect"]): Reach {
  return async (point) => {
    if (point.name !== name) return;
    const code = TROUBLE[dialect][name.endsWith("before") ? "before" : "after"];
    throw Object.assign(new Error("the connection was cut"), { code });
  };
}

/** What is wrong once somebody else has seen to what is left. */
export async function check(place: Place, scenario: Scenario): Promise<readonly string[]> {
  const recovery = await Recovery.open(scenario, place);
  await recovery.run();
  const problems = await recovery.check();
  await recovery.close();
  return problems;
}
