import { Amends, err, ok, saga, type Database } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase } from "../support/databases.ts";

/** What a program in plain JavaScript may do: the compiler would refuse most of what follows. */
interface Loose {
  step(name: unknown, options?: unknown): Loose;
  pivot(name: unknown, options?: unknown): Loose;
}

const nothing = z.object({});
const act = (): string => "done";
const loose = (options: object = {}): Loose => saga("loose", nothing, options) as unknown as Loose;
const refusal = (code: string, message: RegExp): unknown =>
  expect.objectContaining({ code, message: expect.stringMatching(message) as unknown });

onEachDatabase((database) => {
  it("[S-01] steps run in the declared order, and what they return reaches the later ones", async () => {
    const order: string[] = [];
    const chain = saga("chain", z.object({ n: z.number() }))
      .step("one", { act: ({ input }) => (order.push("one"), ok({ twice: input.n * 2 })) })
      .step("two", { act: ({ results }) => (order.push("two"), results.one.twice + 1) })
      .step("three", { act: ({ results }) => void order.push(`three ${results.two}`) });
    const amends = await database.amends({ sagas: [chain] });
    await database.worker(amends);
    const run = await amends.start(chain, { n: 20 });
    expect(await run.result()).toEqual({
      status: "COMPLETED",
      id: run.id,
      results: { one: { twice: 40 }, two: 41, three: undefined },
    });
    expect(order).toEqual(["one", "two", "three 41"]);
  });

  it("[S-01] a step without an undo is passed over on the way back", async () => {
    const undone: string[] = [];
    const mixed = saga("mixed", nothing)
      .step("one", { act, compensate: () => void undone.push("one") })
      .step("look", { act })
      .step("three", { act, compensate: () => void undone.push("three") })
      .step("four", { act: () => err("no") });
    const amends = await database.amends({ sagas: [mixed] });
    await database.worker(amends);
    expect(await (await amends.start(mixed, {})).result()).toMatchObject({ status: "FAILED", step: "four" });
    expect(undone).toEqual(["three", "one"]);
  });

  it("[S-01] a bad step fails when it is defined, and says which step and why", () => {
    const bad = (message: RegExp): unknown => refusal("BAD_DEFINITION", message);
    expect(() => loose().step("a", { act }).step("a", { act })).toThrow(bad(/step a: .*already a step/));
    expect(() => loose().step("a")).toThrow(bad(/step a: .*`act`/));
    expect(() => loose().step("a", {})).toThrow(bad(/step a: `act` must be a function/));
    expect(() => loose().step("a", { act, compensate: 7 })).toThrow(bad(/`compensate` must be a function/));
    expect(() => loose().step("a", { act, compnsate: act })).toThrow(bad(/no option named compnsate/));
    expect(() => loose().step("a", { act, undoOnErr: true })).toThrow(bad(/`undoOnErr` needs/));
    expect(() => loose().pivot("p", { act }).pivot("q", { act })).toThrow(bad(/one pivot/));
    expect(() => loose().pivot("p", { act }).step("q", { act, compensate: act })).toThrow(bad(/forward/));
    expect(() => loose().pivot("p", { act }).step("q", { act, deadline: "1s" })).toThrow(bad(/forward/));
    for (const name of ["", "1st", "a b", "$claim", "a:b", "é", "x".repeat(65), 7, undefined]) {
      expect(() => loose().step(name, { act })).toThrow(bad(/a step's name must be/));
    }
    const full = Array.from({ length: 100 }, (_, index) => index).reduce(
      (so, index) => so.step(`s${index}`, { act }),
      loose(),
    );
    expect(() => full.step("one-more", { act })).toThrow(bad(/at most 100 steps/));
  });

  it("[S-01] a bad saga fails when it is defined, and says what is wrong with it", () => {
    const define = saga as unknown as (name: unknown, schema: unknown, options?: object) => Loose;
    for (const name of ["", "a b", "$x", 7]) {
      expect(() => define(name, nothing)).toThrow(refusal("BAD_DEFINITION", /A saga's name/));
    }
    for (const schema of [undefined, {}, { parse: act }, { "~standard": {} }]) {
      expect(() => define("a", schema)).toThrow(refusal("BAD_DEFINITION", /Standard Schema/));
    }
    expect(() => loose({ version: 0 })).toThrow(refusal("BAD_DEFINITION", /version/));
    expect(() => loose({ recoveries: 1.5 })).toThrow(refusal("BAD_DEFINITION", /recoveries/));
    expect(() => loose({ deadline: "soon" })).toThrow(refusal("BAD_DURATION", /deadline/));
    expect(() => loose({ retry: { base: 0 } })).toThrow(refusal("BAD_DURATION", /retry\.base/));
    expect(() => loose({ retry: { base: "2s", cap: "1s" } })).toThrow(refusal("BAD_POLICY", /cap/));
    expect(() => loose({ retry: { factor: 0.5 } })).toThrow(refusal("BAD_POLICY", /factor/));
    expect(() => loose().step("a", { act, timeout: -1 })).toThrow(refusal("BAD_DURATION", /timeout/));
  });

  it("[S-01] sagas that cannot be told apart, or have no steps, are refused when they are registered", async () => {
    const db: Database = await database.open();
    const one = saga("twin", nothing).step("a", { act });
    const other = saga("twin", nothing).step("b", { act });
    const register = (...sagas: (typeof one)[]): Amends => new Amends({ database: db, sagas });
    expect(() => register(one, other as unknown as typeof one)).toThrow(
      refusal("BAD_DEFINITION", /twin is registered twice with version 1/),
    );
    expect(() => register(saga("idle", nothing) as unknown as typeof one)).toThrow(
      refusal("BAD_DEFINITION", /idle has no steps/),
    );
  });

  it("[S-01] a definition is a value: adding a step to it leaves it as it was", () => {
    const one = saga("grown", nothing).step("a", { act });
    const two = one.step("b", { act });
    expect(one.plan.map(({ name }) => name)).toEqual(["a"]);
    expect(two.plan.map(({ name }) => name)).toEqual(["a", "b"]);
  });
});
