import { err, saga, signal } from "amends";
import { virtualClock } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase } from "../support/databases.ts";
import { until } from "../support/until.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { gate } from "./support/gate.ts";
import { onlooker } from "./support/look.ts";
import { pair } from "./support/pair.ts";

const Order = z.object({ cents: z.number() });
const approved = signal("approved", z.object({ by: z.string() }));

/** Asks for an approval above a limit, and for nothing below it. */
function order(log: string[] = []) {
  const undo = (name: string) => () => void log.push(`undo ${name}`);
  return saga("order", Order)
    .step("reserve", { act: () => 1, compensate: undo("reserve") })
    .when(
      "large",
      ({ input, results, sagaId }) => (log.push(`asked ${sagaId} ${results.reserve}`), input.cents > 500),
      (branch) =>
        branch
          .step("announce", { act: ({ results }) => `large ${results.large}`, compensate: undo("announce") })
          .waitFor("approval", { signal: approved, timeout: "3d" }),
      (branch) => branch.step("wave", { act: () => "through", compensate: undo("wave") }),
    )
    .step("charge", {
      act: ({ results, input }) =>
        input.cents % 2 === 1 ? err("odd") : `${results.approval?.by ?? "-"} ${results.wave ?? "-"}`,
    });
}

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  it("[S-34] the branch that was chosen runs, and only that; later steps see its results", async () => {
    const log: string[] = [];
    const both = order(log);
    const amends = await database.amends({ sagas: [both] });
    await database.worker(amends);
    const large = await amends.start(both, { cents: 600 }, { id: "l" });
    await amends.signal("l", approved, { by: "ann" });
    expect(await large.result()).toMatchObject({
      status: "COMPLETED",
      results: { reserve: 1, large: true, announce: "large true", charge: "ann -" },
    });
    const small = await amends.start(both, { cents: 400 }, { id: "s" });
    const outcome = await small.result();
    expect(outcome).toEqual({
      id: "s",
      status: "COMPLETED",
      results: { reserve: 1, large: false, wave: "through", charge: "- through" },
    });
    const look = await onlooker(database);
    expect((await look.history("s")).join()).not.toContain("announce");
    expect(log).toEqual(["asked l 1", "asked s 1"]);
  });

  it("[S-34] only the branch that ran is undone", async () => {
    const log: string[] = [];
    const both = order(log);
    const amends = await database.amends({ sagas: [both] });
    await database.worker(amends);
    expect(await (await amends.start(both, { cents: 401 })).result()).toMatchObject({ status: "FAILED" });
    expect(log.slice(1)).toEqual(["undo wave", "undo reserve"]);
    const large = await amends.start(both, { cents: 601 }, { id: "l" });
    await amends.signal("l", approved, { by: "ann" });
    expect(await large.result()).toMatchObject({ status: "FAILED" });
    expect(log.slice(4)).toEqual(["undo announce", "undo reserve"]);
  });

  it("[S-34] the choice is recorded, and never asked again: not by the next worker, and not if it would answer otherwise", async () => {
    const held = gate();
    const log: string[] = [];
    const make = (who: string, answer: boolean) =>
      saga("order", Order).when(
        "large",
        () => (log.push(`${who} asked`), answer),
        (branch) =>
          branch
            .step("a", { act: () => (log.push(`${who} a`), who === "first" ? held.pass() : undefined) })
            .step("b", { act: () => log.push(`${who} b`) }),
        (branch) => branch.step("c", { act: () => log.push(`${who} c`) }),
      );
    const { first, second, lapse } = await pair(
      database,
      { sagas: [make("first", true)] },
      { sagas: [make("second", false)] },
    );
    await database.worker(first);
    await first.start(make("first", true), { cents: 1 }, { id: "o" });
    await until(() => log.length === 2);
    lapse();
    await second.worker().runOnce();
    expect((await second.inspect("o"))?.status).toBe("COMPLETED");
    expect(log).toEqual(["first asked", "first a", "second a", "second b"]);
    held.open();
  });

  it("[S-34] without another branch the saga goes on; choices stand in branches, and branches hold every kind of step", async () => {
    const clock = virtualClock();
    const nested = saga("nested", Order).when(
      "outer",
      ({ input }) => input.cents > 1,
      (branch) =>
        branch
          .when(
            "inner",
            ({ input, results }) => results.outer && input.cents > 2,
            (deep) =>
              deep
                .parallel("both", (group) =>
                  group.step("p", { act: () => "p" }).step("q", { act: () => "q" }),
                )
                .each("items", { over: () => [1, 2], key: (item) => `${item}`, act: ({ item }) => item * 2 })
                .sleep("rest", "1h"),
            (deep) => deep.step("plain", { act: () => "plain" }),
          )
          .step("after", { act: ({ results }) => `${results.p ?? ""}${results.plain ?? ""}` }),
    );
    const amends = await database.amends({ sagas: [nested], clock });
    const run = async (cents: number): Promise<unknown> => {
      const one = await amends.start(nested, { cents });
      await amends.worker().runOnce();
      clock.jump(3_600_001);
      await amends.worker().runOnce();
      const outcome = await one.result();
      return outcome.status === "COMPLETED" ? outcome.results : outcome;
    };
    expect(await run(1)).toEqual({ outer: false });
    expect(await run(2)).toEqual({ outer: true, inner: false, plain: "plain", after: "plain" });
    const items = [1, 2].map((item) => ({ key: `${item}`, item, result: item * 2 }));
    expect(await run(3)).toEqual({ outer: true, inner: true, p: "p", q: "q", items, after: "p" });
  });

  it("[S-34][K-15] a question that throws is asked again; an answer that is neither true nor false fails the step", async () => {
    const clock = virtualClock();
    let asked = 0;
    const made = (answer: () => unknown) =>
      saga("order", Order, { retry: { attempts: 2, base: "1h" } }).when(
        "large",
        answer as () => boolean,
        (branch) => branch.step("a", { act: () => 1 }),
      );
    const shaky = made(() => {
      if (++asked === 1) throw new Error("down");
      return true;
    });
    const amends = await database.amends({ sagas: [shaky], clock });
    const run = await amends.start(shaky, { cents: 1 });
    await amends.worker().runOnce();
    clock.jump(3_600_001);
    await amends.worker().runOnce();
    expect(await run.result()).toMatchObject({ status: "COMPLETED", results: { large: true, a: 1 } });
    const odd = made(() => "yes");
    const other = await database.amends({ sagas: [odd], clock });
    const wrong = await other.start(odd, { cents: 1 });
    await other.worker().runOnce();
    const error = { kind: "unfit", label: "AnswerNotBoolean" };
    expect(await wrong.result()).toMatchObject({ status: "FAILED", step: "large", error });
  });

  it("[S-34][S-30] a worker whose definition moved a step out of a branch leaves the saga alone", async () => {
    const clock = virtualClock();
    const make = (inBranch: boolean) => {
      const begun = saga("order", Order).sleep("first", "1h");
      const act = (): number => 1;
      return inBranch
        ? begun.when(
            "large",
            () => true,
            (branch) => branch.step("a", { act }).step("b", { act }),
          )
        : begun
            .when(
              "large",
              () => true,
              (branch) => branch.step("a", { act }),
            )
            .step("b", { act });
    };
    const before = await database.amends({ sagas: [make(true)], clock });
    const { id } = await before.start(make(true), { cents: 1 });
    await before.worker().runOnce();
    clock.jump(3_600_001);
    const after = await database.amends({ sagas: [make(false)], clock });
    expect(await after.worker().runOnce()).toBe(0);
    expect(await before.worker().runOnce()).toBe(1);
    expect((await before.inspect(id))?.status).toBe("COMPLETED");
  });
});
