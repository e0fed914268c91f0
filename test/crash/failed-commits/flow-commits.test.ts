/** Commits of the event flow, counted and failed. No process dies. */
import { expect, it } from "vitest";
import { EntryCalls } from "../external-world/entry-calls.ts";
import { recoverAndCheck, failAt, durablePoints, runInProcess } from "./commit-faults.ts";
import { sampleOneIn } from "../harness/sampling.ts";
import type { Sandbox } from "../harness/sandbox.ts";
import type { AtPoint } from "../harness/crash-points.ts";
import { scenarioOf } from "../scenarios/all.ts";
import { onEachDialect } from "../harness/sandbox-pool.ts";

const doNothing: AtPoint = async () => undefined;

onEachDialect((sandboxes) => {
  it("[F-07][F-17] four handlers in a row cost one commit each, besides the publication and the first claim", async () => {
    const { points } = await runInProcess(await sandboxes.create(), scenarioOf("flow-chain"), doNothing);
    expect(durablePoints(points).filter(({ name }) => name.endsWith("after"))).toHaveLength(6);
  });

  const names = [
    "flow-claimed-on-publish",
    "flow-refused",
    "flow-exhausted",
    "flow-stalled-retried",
    "flow-stalled-resolved",
    "flow-given-up",
  ];
  for (const name of names) {
    it(
      `[K-12][F-08] a commit that fails or whose answer is lost is not an outcome of the handler, at any point (${name})`,
      { timeout: 90_000 },
      async () => {
        const scenario = scenarioOf(name);
        const quiet = await sandboxes.create();
        const { points } = await runInProcess(quiet, scenario, doNothing);
        // The caller's transaction is excluded: the caller gets the driver's error.
        const ours = durablePoints(points).filter(
          (point) => name === "flow-claimed-on-publish" || !point.name.startsWith("commit 1 "),
        );
        const problems = await Promise.all(
          sampleOneIn(12, ours, sandboxes.dialect).map(async (point) => {
            const sandbox = await sandboxes.create();
            await runInProcess(sandbox, scenario, failAt(point, sandboxes.dialect));
            // A transactional handler is called again under the same claim after its transaction was rolled back.
            const found = (await recoverAndCheck(sandbox, scenario)).filter(
              (text) => !/^I2: .* calls under/.test(text),
            );
            const repeated = repeats(sandbox) - repeats(quiet);
            if (repeated > 1) found.push(`${repeated} calls were repeated, at most one may be`);
            await sandboxes.release(sandbox);
            return found.map((text) => `${point.name}: ${text}`);
          }),
        );
        expect(problems.flat()).toEqual([]);
        expect(ours.length).toBeGreaterThan(5);
      },
    );
  }
});

/** The number of calls under a key that was used before. */
function repeats({ effects }: Sandbox): number {
  const keys = new EntryCalls(`${effects}.calls`)
    .read()
    .filter(({ phase }) => phase === "begun")
    .map(({ key }) => key);
  return keys.length - new Set(keys).size;
}
