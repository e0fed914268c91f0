/**
 * Commits of sagas, counted and failed. No process dies: the database refuses a write, or commits it and loses the
 * answer, and the process continues.
 */
import { Amends, err, saga, Terminal } from "amends";
import { expect, it, vi } from "vitest";
import { z } from "zod";
import { Effects } from "../external-world/effects.ts";
import { recoverAndCheck, failAt, durablePoints, runInProcess, DRIVER_ERRORS } from "./commit-faults.ts";
import { sampleOneIn } from "../harness/sampling.ts";
import { openSandbox, type Sandbox } from "../harness/sandbox.ts";
import { withCrashPoints, type AtPoint } from "../harness/crash-points.ts";
import { scenarioOf } from "../scenarios/all.ts";
import { onEachDialect } from "../harness/sandbox-pool.ts";

const doNothing: AtPoint = async () => undefined;

onEachDialect((sandboxes) => {
  it("[S-05] three successful steps cost four commits, and a claim costs one more", async () => {
    const own = await runInProcess(await sandboxes.create(), scenarioOf("completed"), doNothing);
    expect(durablePoints(own.points).filter(({ name }) => name.endsWith("after"))).toHaveLength(4);
    const claimed = await runInProcess(
      await sandboxes.create(),
      scenarioOf("started-in-transaction"),
      doNothing,
    );
    // Two steps: the caller's commit, the claim, and one commit for each step.
    expect(durablePoints(claimed.points).filter(({ name }) => name.endsWith("after"))).toHaveLength(4);
  });

  for (const name of [
    "completed",
    "started-in-transaction",
    "declined",
    "stalled",
    "transactional",
    "waiting",
  ]) {
    it(`[K-12] a commit that fails or whose answer is lost is not an outcome of the step, at any point (${name})`, async () => {
      const scenario = scenarioOf(name);
      const quiet = await sandboxes.create();
      const { points } = await runInProcess(quiet, scenario, doNothing);
      const expected = callsOf(quiet);
      // The caller's transaction is excluded: the caller gets the driver's error.
      const ours = durablePoints(points).filter(
        (point) => name !== "started-in-transaction" || !point.name.startsWith("commit 1 "),
      );
      const problems = await Promise.all(
        sampleOneIn(12, ours, sandboxes.dialect).map(async (point) => {
          const sandbox = await sandboxes.create();
          const { counters } = await runInProcess(sandbox, scenario, failAt(point, sandboxes.dialect));
          const found = [...(await recoverAndCheck(sandbox, scenario))];
          // A transactional step is called again after its transaction was rolled back.
          if (name !== "transactional" && callsOf(sandbox) !== expected)
            found.push(`called ${callsOf(sandbox)} instead of ${expected}`);
          if (counters.lost > 0) found.push("the worker lost its own saga");
          await sandboxes.release(sandbox);
          return found.map((text) => `${point.name}: ${text}`);
        }),
      );
      expect(problems.flat()).toEqual([]);
      expect(ours.length).toBeGreaterThan(5);
    });
  }
});

onEachDialect((sandboxes) => {
  it("[K-12][S-14] a stall whose answer is lost does not revert an operator's retry", async () => {
    const sandbox = await sandboxes.create();
    const [plain, inner] = [await openSandbox(sandbox), await openSandbox(sandbox)];
    let isRepaired = false;
    const order = saga("order", z.object({}))
      .step("charge", {
        act: () => 1,
        compensate: () => {
          if (!isRepaired) throw new Terminal("the-bank-is-closed");
        },
      })
      .step("ship", { act: () => err("no-carrier") });
    const operator = new Amends({ database: plain, sagas: [order] });
    const atPoint: AtPoint = async ({ name }) => {
      if (isRepaired || !name.endsWith(" after") || (await operator.inspect("one"))?.status !== "STALLED")
        return;
      isRepaired = true;
      await operator.retry("one", { reason: "the bank has opened" });
      throw Object.assign(new Error("the connection was cut"), {
        code: DRIVER_ERRORS[sandboxes.dialect].after,
      });
    };
    const amends = new Amends({ database: withCrashPoints(inner, atPoint), sagas: [order] });
    const worker = amends.worker({ poll: 50 });
    await worker.start();
    const started = await amends.start(order, {}, { id: "one" });
    await vi.waitFor(async () => expect(await started.status()).toBe("FAILED"), { timeout: 10_000 });
    await amends.close();
    await operator.close();
  });
});

/** The keys of all calls, in order. */
function callsOf({ effects }: Sandbox): string {
  const begun = new Effects(effects).read().filter(({ phase }) => phase === "begun");
  return begun.map(({ key }) => key).join(" ");
}
