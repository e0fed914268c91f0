/** Commits of the event flow, counted and cut off, while nothing dies. */
import { expect, it } from "vitest";
import { Visits } from "../support/visits.ts";
import { check, cutAt, durable, run } from "./cut.ts";
import { oneOf } from "./gate.ts";
import type { Place } from "./place.ts";
import type { Reach } from "./probe.ts";
import { scenarioOf } from "./scenarios/all.ts";
import { onEachYard } from "./yard.ts";

const calm: Reach = async () => undefined;

onEachYard((yard) => {
  it("[F-07][F-17] four handlers in a row cost one commit each, beside the publication's and the first claim's", async () => {
    const { points } = await run(await yard.place(), scenarioOf("flow-chain"), calm);
    expect(durable(points).filter(({ name }) => name.endsWith("after"))).toHaveLength(6);
  });

  const names = [
    "flow-hasty",
    "flow-refused",
    "flow-exhausted",
    "flow-stalled-retried",
    "flow-stalled-resolved",
    "flow-given-up",
  ];
  for (const name of names) {
    it(
      `[K-12][F-08] a commit that fails or whose answer is lost is no outcome, at any point (${name})`,
      { timeout: 90_000 },
      async () => {
        const scenario = scenarioOf(name);
        const quiet = await yard.place();
        const { points } = await run(quiet, scenario, calm);
        // The caller's own transaction is the caller's affair: what it is told is what its driver threw.
        const ours = durable(points).filter(
          (point) => name === "flow-hasty" || !point.name.startsWith("commit 1 "),
        );
        const problems = await Promise.all(
          oneOf(12, ours, yard.dialect).map(async (point) => {
            const place = await yard.place();
            await run(place, scenario, cutAt(point, yard.dialect));
            // Whoever writes in a transaction is called again, under the same claim, where that was rolled back.
            const found = (await check(place, scenario)).filter((text) => !/^I2: .* calls under/.test(text));
            const repeated = repeats(place) - repeats(quiet);
            if (repeated > 1) found.push(`${repeated} calls were made once too often`);
            return found.map((text) => `${point.name}: ${text}`);
          }),
        );
        expect(problems.flat()).toEqual([]);
        expect(ours.length).toBeGreaterThan(5);
      },
    );
  }
});

/** How many calls were made again under a key that was used before. */
function repeats({ effects }: Place): number {
  const keys = new Visits(`${effects}.visits`)
    .read()
    .filter(({ phase }) => phase === "begun")
    .map(({ key }) => key);
  return keys.length - new Set(keys).size;
}
