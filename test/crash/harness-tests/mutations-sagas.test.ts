/** Mutation tests of sagas: the harness must find each bug that is injected into the build. */
import { expect, it } from "vitest";
import { RECOVERY_COUNTED_ON_SETTLE, SETTLE_WITHOUT_FENCE, UNDO_BEFORE_COMPENSATING } from "./mutations.ts";
import { bundledWith } from "../child-processes/bundle.ts";
import { crashAtEachPoint } from "../harness/crash-at-points.ts";
import type { CrashPoint } from "../harness/crash-points.ts";
import { runPoisonSaga } from "./poison-runs.ts";
import { POISON_RECOVERIES } from "../scenarios/sagas/poison.ts";
import { scenarioOf } from "../scenarios/all.ts";
import { onEachDialect } from "../harness/sandbox-pool.ts";

const named =
  (part: string) =>
  (points: readonly CrashPoint[]): readonly CrashPoint[] =>
    points.filter(({ name }) => name.includes(part));

onEachDialect((sandboxes) => {
  it(
    "[S-06] the harness finds COMPENSATING that is written after the first undo",
    { timeout: 60_000 },
    async () => {
      const root = await bundledWith(UNDO_BEFORE_COMPENSATING);
      const scenario = scenarioOf("declined");
      const { problems } = await crashAtEachPoint({
        sandboxes,
        scenario,
        signal: "SIGKILL",
        root,
        choose: named("pack"),
      });
      // Only a crash between the two shows the bug. Without a crash the log and the calls agree.
      expect(problems.filter((problem) => problem.startsWith("without a crash"))).toEqual([]);
      expect(problems.join("\n")).toMatch(
        /compensate pack 1 after: S-06: .* the act was called after pack was undone/,
      );
    },
  );

  it(
    "[K-06] the harness finds a settle that checks neither its token nor its version",
    { timeout: 60_000 },
    async () => {
      const root = await bundledWith(SETTLE_WITHOUT_FENCE);
      const scenario = scenarioOf("completed");
      const { problems } = await crashAtEachPoint({
        sandboxes,
        scenario,
        signal: "SIGSTOP",
        root,
        choose: named("write"),
      });
      expect(problems.filter((problem) => problem.startsWith("without a crash"))).toEqual([]);
      expect(problems.join("\n")).toMatch(/I3: .* was written although claim 2 held/);
      expect(problems.join("\n")).toMatch(/I4: saga one changed after its end/);
    },
  );

  it("[K-07] a saga that kills its worker every time is called as often as its budget allows, then stalls", async () => {
    const { kills, calls, status, violations } = await runPoisonSaga(sandboxes);
    expect(violations).toEqual([]);
    expect(status).toBe("STALLED");
    expect(calls).toBe(POISON_RECOVERIES + 1);
    expect(kills).toBe(calls);
  });

  it("[K-07] the harness finds recoveries that are counted at the settle, not at the claim", async () => {
    const { status, violations } = await runPoisonSaga(
      sandboxes,
      await bundledWith(RECOVERY_COUNTED_ON_SETTLE),
    );
    expect(status).toBe("RUNNING");
    expect(violations.join("\n")).toMatch(/I10: .* is recovery 4 of at most 2/);
    // If the machine stalls past a lease, another claim is added: the count exceeds the budget, but is not fixed.
    expect(violations.join("\n")).toMatch(/K-07: .* its row counts \d recoveries, its log shows [4-9]/);
  });
});
