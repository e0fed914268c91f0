/** Bugs put in on purpose: a build with one of them runs a scenario, and the harness must say what is wrong. */
import { expect, it } from "vitest";
import { brokenBuild, type Patch } from "./broken.ts";
import { isTurn } from "./gate.ts";
import { crashEverywhere, type HarnessOptions } from "./harness.ts";
import { scenarioOf } from "./scenarios/all.ts";
import { onEachYard } from "./yard.ts";

export interface Bug {
  readonly what: string;
  readonly patches: readonly Patch[];
  readonly scenario: string;
  readonly signal: HarnessOptions["signal"];
  /** The points that show it. */
  readonly at: RegExp;
  readonly found: RegExp;
  /** Nothing shows it unless somebody dies or sleeps. */
  readonly isHidden: boolean;
}

export function findsEach(bugs: readonly Bug[]): void {
  onEachYard((yard) => {
    for (const [place, { what, patches, scenario, signal, at, found, isHidden }] of bugs.entries()) {
      if (!isTurn(place, yard.dialect)) continue;
      it(what, { timeout: 60_000 }, async () => {
        const { problems } = await crashEverywhere({
          yard,
          scenario: scenarioOf(scenario),
          signal,
          root: await brokenBuild(patches),
          choose: (points) => points.filter(({ name }) => at.test(name)),
        });
        expect(problems.join("\n")).toMatch(found);
        expect(problems.some((problem) => problem.startsWith("undisturbed"))).toBe(!isHidden);
      });
    }
  });
}
