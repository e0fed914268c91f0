/** Tests of the tests: each bug that the harness exists for is put in on purpose, and must be found. */
import { expect, it } from "vitest";
import { brokenBuild, COUNTED_AT_THE_END, SETTLE_WITHOUT_FENCE, UNDO_BEFORE_COMPENSATING } from "./broken.ts";
import { crashEverywhere } from "./harness.ts";
import type { Point } from "./probe.ts";
import { killByPoison } from "./poisoning.ts";
import { POISON_RECOVERIES } from "./scenarios/poison.ts";
import { scenarioOf } from "./scenarios/all.ts";
import { onEachYard } from "./yard.ts";

const named =
  (part: string) =>
  (points: readonly Point[]): readonly Point[] =>
    points.filter(({ name }) => name.includes(part));

onEachYard((yard) => {
  it(
    "[S-06] the harness finds it when COMPENSATING is written after the first undo",
    { timeout: 60_000 },
    async () => {
      const root = await brokenBuild(UNDO_BEFORE_COMPENSATING);
      const scenario = scenarioOf("declined");
      const { problems } = await crashEverywhere({
        yard,
        scenario,
        signal: "SIGKILL",
        root,
        choose: named("pack"),
      });
      // Only a crash between the two shows it: undisturbed, the books and the world agree.
      expect(problems.filter((problem) => problem.startsWith("undisturbed"))).toEqual([]);
      expect(problems.join("\n")).toMatch(
        /compensate pack 1 after: S-06: .* went forward after pack was undone/,
      );
    },
  );

  it(
    "[K-06] the harness finds it when a settle forgets its token and its version",
    { timeout: 60_000 },
    async () => {
      const root = await brokenBuild(SETTLE_WITHOUT_FENCE);
      const scenario = scenarioOf("happy");
      const { problems } = await crashEverywhere({
        yard,
        scenario,
        signal: "SIGSTOP",
        root,
        choose: named("write"),
      });
      expect(problems.filter((problem) => problem.startsWith("undisturbed"))).toEqual([]);
      expect(problems.join("\n")).toMatch(/I3: .* was written although claim 2 held/);
      expect(problems.join("\n")).toMatch(/I4: saga one changed after it had ended/);
    },
  );

  it("[K-07] a saga that kills its worker every time is called as often as it may be, then stalls", async () => {
    const { kills, calls, status, violations } = await killByPoison(yard);
    expect(violations).toEqual([]);
    expect(status).toBe("STALLED");
    expect(calls).toBe(POISON_RECOVERIES + 1);
    expect(kills).toBe(calls);
  });

  it("[K-07] the harness finds it when recoveries are counted at the end, not at the claim", async () => {
    const { status, violations } = await killByPoison(yard, await brokenBuild(COUNTED_AT_THE_END));
    expect(status).toBe("RUNNING");
    expect(violations.join("\n")).toMatch(/I10: .* is recovery 4 of at most 2/);
    // A machine that stalls past a lease adds a claim: the count is more than the budget, but not always the same.
    expect(violations.join("\n")).toMatch(/K-07: .* its row counts \d recoveries, its log shows [4-9]/);
  });
});
