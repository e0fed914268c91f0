/** Mutation tests: a build with one known bug runs a scenario, and the harness must report the violation. */
import { expect, it } from "vitest";
import { bundledWith, type Patch } from "../child-processes/bundle.ts";
import { isSampledOn } from "../harness/sampling.ts";
import { crashAtEachPoint, type CrashOptions } from "../harness/crash-at-points.ts";
import { scenarioOf } from "../scenarios/all.ts";
import { onEachDialect } from "../harness/sandbox-pool.ts";

export interface Mutation {
  readonly title: string;
  readonly patches: readonly Patch[];
  readonly scenario: string;
  readonly signal: CrashOptions["signal"];
  /** The points at which a crash shows the bug. */
  readonly points: RegExp;
  /** The problem that the harness must report. */
  readonly expected: RegExp;
  /** True: the bug shows only if a process is killed or stopped. */
  readonly needsCrash: boolean;
}

export function testEachMutation(mutations: readonly Mutation[]): void {
  onEachDialect((sandboxes) => {
    for (const [
      index,
      { title, patches, scenario, signal, points, expected, needsCrash },
    ] of mutations.entries()) {
      if (!isSampledOn(index, sandboxes.dialect)) continue;
      it(title, { timeout: 60_000 }, async () => {
        const { problems } = await crashAtEachPoint({
          sandboxes,
          scenario: scenarioOf(scenario),
          signal,
          root: await bundledWith(patches),
          choose: (all) => all.filter(({ name }) => points.test(name)),
        });
        expect(problems.join("\n")).toMatch(expected);
        expect(problems.some((problem) => problem.startsWith("without a crash"))).toBe(!needsCrash);
      });
    }
  });
}
