/** What is paused, from the terminal: pause, list, show and resume. */
import { saga } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase, type TestDatabase } from "../support/databases.ts";
import { cli, json } from "./support/cli.ts";

const WHY = ["--reason", "the bank is down", "--by", "ann"];

async function scene(database: TestDatabase) {
  const order = saga("place-order", z.object({})).step("ship", { act: () => 1 });
  const amends = await database.amends({ sagas: [order] });
  await amends.start(order, {}, { id: "o-1" });
  return { amends, order, at: ["--database", await database.place()] };
}

onEachDatabase((database) => {
  it("[S-44][P-03] a saga is paused, shown, listed and resumed from the terminal", async () => {
    const { amends, at } = await scene(database);
    const paused = await cli(["pause", "o-1", ...WHY, ...at]);
    expect([paused.code, paused.err]).toEqual([0, ""]);
    expect(paused.out).toContain("Paused: saga o-1 is PENDING");
    expect(await amends.worker().runOnce()).toBe(0);
    const shown = await cli(["show", "o-1", ...at]);
    expect(shown.out).toMatch(/paused +.* by ann: the bank is down$/m);
    expect(shown.out).toMatch(/amends resume o-1 --reason "…"/);
    expect((await cli(["list", "paused", ...at])).out).toMatch(
      /saga +place-order +o-1 +.* +ann +the bank is down/,
    );
    expect(await json(["list", "sagas", ...at])).toMatchObject({ items: [{ id: "o-1", isPaused: true }] });
    expect((await cli(["resume", "o-1", ...WHY, ...at])).code).toBe(0);
    expect(await amends.worker().runOnce()).toBe(1);
    expect(await json(["list", "paused", ...at])).toMatchObject({ items: [] });
  });

  it("[S-44][P-03] the sagas and the calls of a name are paused and resumed from the terminal", async () => {
    const { amends, at } = await scene(database);
    const paused = await cli(["pause", "--saga", "place-order", ...WHY, ...at]);
    expect([paused.code, paused.err]).toEqual([0, ""]);
    expect(paused.out).toContain("Paused: sagas place-order, until amends resume --saga place-order");
    expect((await cli(["pause", "--call", "send-mail", ...WHY, ...at])).code).toBe(0);
    expect(await amends.worker().runOnce()).toBe(0);
    expect((await cli(["show", "o-1", ...at])).out).toMatch(
      /paused +.* by ann, as all sagas place-order: the bank/,
    );
    expect(await json(["list", "paused", ...at])).toMatchObject({
      items: [
        { kind: "saga", name: "place-order", by: "ann" },
        { kind: "call", name: "send-mail", reason: "the bank is down" },
      ],
    });
    expect((await cli(["resume", "--saga", "place-order", ...WHY, ...at])).out).toContain("Resumed");
    expect((await cli(["resume", "--saga", "place-order", ...WHY, ...at])).out).toContain("were not paused");
    expect(await amends.worker().runOnce()).toBe(1);
  });

  it("[S-44][P-03] a pause says what it needs: one target, and a reason", async () => {
    const { at } = await scene(database);
    for (const given of [[], ["o-1", "--saga", "place-order"], ["--saga", "a", "--call", "b"]]) {
      const { code, err } = await cli(["pause", ...given, ...WHY, ...at]);
      expect(code).not.toBe(0);
      expect(err).toContain("Name one thing to pause");
    }
    expect((await cli(["pause", "o-1", ...at])).err).toContain("A reason is required");
  });
});
