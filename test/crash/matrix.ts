/**
 * The matrix: every scenario, its process stopped at every one of its points by each signal, on one database (of which the
 * gate takes a part). A point
 * lies before and after each durable write, and before, during and after each foreign call. The same file is run
 * once for each database, so that the two can run side by side.
 */
import { expect, it } from "vitest";
import { chosen, isWhole, signalsFor, times } from "./gate.ts";
import { crashEverywhere } from "./harness.ts";
import type { Place } from "./place.ts";
import type { Scenario } from "./scenario.ts";
import { onYard } from "./yard.ts";

const SIGNALS = {
  SIGKILL: "killed at any point",
  SIGSTOP: "asleep past its lease at any point",
} as const;

/** Most of it is waiting: for others that have their turn first, on a machine that may be busy with more than this. */
const PATIENCE_MS = 300_000;

export function crashMatrix(dialect: Place["dialect"], scenarios: readonly Scenario[]): void {
  onYard(dialect, (yard) => {
    for (const [place, scenario] of scenarios.entries()) {
      // Nobody is overtaken who is dead.
      const possible = scenario.overlaps ? (["SIGSTOP"] as const) : undefined;
      for (const signal of signalsFor(place, dialect, possible)) {
        it.concurrent(
          `${scenario.title} (${SIGNALS[signal]})`,
          { timeout: times * PATIENCE_MS },
          async () => {
            for (let time = 1; time <= times; time++) {
              const { points, problems, taken } = await crashEverywhere({
                yard,
                scenario,
                signal,
                choose: (all) => chosen(all, signal, dialect),
              });
              expect(problems).toEqual([]);
              expect(points.length).toBeGreaterThan(isWhole ? 2 : 0);
              expect(taken).toBeGreaterThan(isWhole ? 0 : -1);
            }
          },
        );
      }
    }
  });
}
