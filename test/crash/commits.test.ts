/**
 * Commits, counted and cut off. Here nothing dies: the database refuses a write before it is made, or makes it and
 * loses the answer, and the process goes on.
 */
import { Amends, err, saga, Terminal } from "amends";
import { expect, it, vi } from "vitest";
import { z } from "zod";
import { Effects } from "../support/effects.ts";
import { check, cutAt, durable, run, TROUBLE } from "./cut.ts";
import { oneOf } from "./gate.ts";
import { openPlace, type Place } from "./place.ts";
import { probe, type Reach } from "./probe.ts";
import { scenarioOf } from "./scenarios/all.ts";
import { onEachYard } from "./yard.ts";

const calm: Reach = async () => undefined;

onEachYard((yard) => {
  it("[S-05] three steps that succeed cost four commits of their own, and a claim costs one more", async () => {
    const own = await run(await yard.place(), scenarioOf("happy"), calm);
    expect(durable(own.points).filter(({ name }) => name.endsWith("after"))).toHaveLength(4);
    const claimed = await run(await yard.place(), scenarioOf("joined"), calm);
    // Two steps: the caller's commit, the claim's, and one for each step.
    expect(durable(claimed.points).filter(({ name }) => name.endsWith("after"))).toHaveLength(4);
  });

  for (const name of ["happy", "joined", "declined", "stalled", "transactional", "waiting"]) {
    it(`[K-12] a commit that fails or whose answer is lost is no outcome, at any point (${name})`, async () => {
      const scenario = scenarioOf(name);
      const quiet = await yard.place();
      const { points } = await run(quiet, scenario, calm);
      const usual = callsOf(quiet);
      // The caller's own transaction is the caller's affair: what it is told is what its driver threw.
      const ours = durable(points).filter(
        (point) => name !== "joined" || !point.name.startsWith("commit 1 "),
      );
      const problems = await Promise.all(
        oneOf(12, ours, yard.dialect).map(async (point) => {
          const place = await yard.place();
          const { counters } = await run(place, scenario, cutAt(point, yard.dialect));
          const found = [...(await check(place, scenario))];
          // A transactional step is called again where its transaction was rolled back.
          if (name !== "transactional" && callsOf(place) !== usual)
            found.push(`called ${callsOf(place)} instead of ${usual}`);
          if (counters.lost > 0) found.push("it lost its own saga");
          return found.map((text) => `${point.name}: ${text}`);
        }),
      );
      expect(problems.flat()).toEqual([]);
      expect(ours.length).toBeGreaterThan(5);
    });
  }
});

onEachYard((yard) => {
  it("[K-12][S-14] a stall whose answer is lost does not take back the retry that a person made meanwhile", async () => {
    const place = await yard.place();
    const [plain, inner] = [await openPlace(place), await openPlace(place)];
    let mended = false;
    const order = saga("order", z.object({}))
      .step("charge", {
        act: () => 1,
        compensate: () => {
          if (!mended) throw new Terminal("the-bank-is-closed");
        },
      })
      .step("ship", { act: () => err("no-carrier") });
    const person = new Amends({ database: plain, sagas: [order] });
    const reach: Reach = async ({ name }) => {
      if (mended || !name.endsWith(" after") || (await person.inspect("one"))?.status !== "STALLED") return;
      mended = true;
      await person.retry("one", { reason: "the bank has opened" });
      throw Object.assign(new Error("the connection was cut"), { code: TROUBLE[yard.dialect].after });
    };
    const amends = new Amends({ database: probe(inner, reach), sagas: [order] });
    const worker = amends.worker({ poll: 50 });
    await worker.start();
    const started = await amends.start(order, {}, { id: "one" });
    await vi.waitFor(async () => expect(await started.status()).toBe("FAILED"), { timeout: 10_000 });
    await amends.close();
    await person.close();
  });
});

/** Every call that was made, in order. */
function callsOf({ effects }: Place): string {
  const begun = new Effects(effects).read().filter(({ phase }) => phase === "begun");
  return begun.map(({ key }) => key).join(" ");
}
