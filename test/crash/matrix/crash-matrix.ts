/**
 * The crash matrix of one database: every scenario × every crash point × each signal (`npm test` runs a sample). There
 * is a point before and after each durable write, and before, during and after each call to the outside. Each database
 * has test files of its own, so that the two run side by side.
 */
import { expect, it } from "vitest";
import { samplePoints, isExhaustive, onlyPoint, signalsFor, repetitions } from "../harness/sampling.ts";
import { crashAtEachPoint } from "../harness/crash-at-points.ts";
import type { Sandbox } from "../harness/sandbox.ts";
import type { Scenario } from "../scenarios/scenario.ts";
import { onDialect } from "../harness/sandbox-pool.ts";

const SIGNALS = {
  SIGKILL: "killed at each point",
  SIGSTOP: "stopped past its lease at each point",
} as const;

/** Includes the time in which a test waits for a free slot: for all others of its file, on a busy machine. */
const LIMIT_MS = isExhaustive ? 3_600_000 : 300_000;

/** Says how to try one of the points again: a problem begins with the name of its point. */
function repeatOne({ name, title }: Scenario, dialect: Sandbox["dialect"], signal: string): string {
  // Vitest takes a regular expression: without the ids in square brackets the title is none.
  const words = title.replace(/^(?:\[[A-Z]-\d{2}\])+ /, "");
  const command = `AMENDS_CRASH_POINT="<point>" npm test -- test/crash/matrix -t "${words}"`;
  return `scenario ${name} on ${dialect}, ${signal}. To repeat one point: ${command}`;
}

export function crashMatrix(dialect: Sandbox["dialect"], scenarios: readonly Scenario[]): void {
  onDialect(dialect, (sandboxes) => {
    for (const [index, scenario] of scenarios.entries()) {
      // Only a stopped process can wake up beside a competitor.
      const possible = scenario.overlaps ? (["SIGSTOP"] as const) : undefined;
      for (const signal of signalsFor(index, dialect, possible)) {
        it.concurrent(
          `${scenario.title} (${SIGNALS[signal]})`,
          { timeout: repetitions * LIMIT_MS },
          async () => {
            for (let time = 1; time <= repetitions; time++) {
              const { points, problems, takenOver } = await crashAtEachPoint({
                sandboxes,
                scenario,
                signal,
                choose: (all) => samplePoints(all, signal, dialect),
              });
              const repeat = problems.length === 0 ? [] : [repeatOne(scenario, dialect, signal)];
              expect([...repeat, ...problems]).toEqual([]);
              // The whole programme says what it tried.
              if (isExhaustive)
                process.stdout.write(
                  `${scenario.name} on ${dialect}: ${signal} at ${points.length} points, ${takenOver} runs taken over\n`,
                );
              if (onlyPoint !== undefined) continue;
              expect(points.length).toBeGreaterThan(isExhaustive ? 2 : 0);
              expect(takenOver).toBeGreaterThan(isExhaustive ? 0 : -1);
            }
          },
        );
      }
    }
  });
}
