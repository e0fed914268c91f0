import { Amends, saga, type AnySaga, type Database } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase } from "../support/databases.ts";
import { onlooker } from "./support/look.ts";

const place = z.object({
  sku: z.string(),
  lines: z.array(z.object({ cents: z.number().int() })),
});
const fine = { sku: "tea", lines: [{ cents: 1 }] };
const order = saga("order", place).step("one", { act: ({ input }) => input.sku });
const anything = saga("anything", z.any()).step("one", { act: () => 1 });

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = { below: value };
  return value;
}

function cycle(): unknown {
  const self: Record<string, unknown> = {};
  self["self"] = self;
  return self;
}

onEachDatabase((database) => {
  it("[K-20][S-18] a saga that is not registered is refused by name, with those that are", async () => {
    const amends = await database.amends({ sagas: [order] });
    const look = await onlooker(database);
    await expect(amends.start(anything, 1)).rejects.toMatchObject({
      code: "UNKNOWN_SAGA",
      message:
        "Saga anything (version 1) is not registered in this process (registered: order@1). Pass it in `sagas`, or call `amends.register`.",
      details: { name: "anything", version: 1 },
    });
    // Other steps under the same name and version are another saga.
    const twin = saga("order", place).step("two", { act: () => 1 });
    await expect(amends.start(twin, fine)).rejects.toMatchObject({ code: "UNKNOWN_SAGA" });
    expect(await look.count()).toBe(0);
  });

  it("[K-20] wrong input is refused with every issue and its path, and nothing is written", async () => {
    const amends = await database.amends({ sagas: [order] });
    const look = await onlooker(database);
    const wrong = { lines: [{ cents: 1 }, { cents: 1.5 }] } as unknown as typeof fine;
    const refused = amends.start(order, wrong, { id: "o-1" });
    await expect(refused).rejects.toMatchObject({
      code: "BAD_INPUT",
      details: { issues: [{ path: "sku" }, { path: "lines.1.cents" }] },
    });
    await expect(refused).rejects.toThrow(
      /The input of saga order does not fit its schema: sku: .*; lines\.1\.cents: /,
    );
    await expect(amends.start(order, undefined as unknown as typeof fine)).rejects.toThrow(/\(input\): /);
    expect(await look.count()).toBe(0);
    // The id is still free.
    expect((await amends.start(order, fine, { id: "o-1" })).created).toBe(true);
  });

  it("[K-20] what the schema makes of the input is what is stored, also where it answers later", async () => {
    const later = saga("later", z.object({ n: z.string().transform(async (text) => Number(text)) })).step(
      "one",
      {
        act: ({ input }) => input.n + 1,
      },
    );
    const amends = await database.amends({ sagas: [later] });
    const run = await amends.start(later, { n: "41" });
    await amends.worker().runOnce();
    expect(await run.result()).toMatchObject({ results: { one: 42 } });
    expect((await amends.inspect(run.id))?.input).toEqual({ n: 41 });
  });

  it.each([
    ["65 levels deep", nested(65), /nested deeper than 64 levels/],
    ["100,000 levels deep", nested(100_000), /nested deeper than 64 levels/],
    ["a cycle", cycle(), /contains itself|cycle/],
    ["larger than 1 MiB", "x".repeat(1_048_576), /larger than 1048576 bytes/],
    ["larger than 1 MiB in UTF-8", "é".repeat(600_000), /larger than 1048576 bytes/],
    ["a bigint", { n: 1n }, /cannot be written as JSON/],
    ["a function", () => 1, /cannot be written as JSON/],
    ["a NUL", "a\0b", /NUL/],
    ["half a surrogate pair", "\uD800", /surrogate/],
    ["a key __proto__", JSON.parse('{"__proto__":1}'), /__proto__/],
  ])(
    "[K-20] an input that is %s is refused, says which field, and writes nothing",
    async (_, value, message) => {
      const amends = await database.amends({ sagas: [anything] });
      await expect(amends.start(anything, value)).rejects.toMatchObject({
        code: "BAD_INPUT",
        message: expect.stringMatching(message) as unknown,
        details: { field: "The input of saga anything" },
      });
      expect(await (await onlooker(database)).count()).toBe(0);
      const deep = nested(64);
      expect((await amends.start(anything, deep)).created).toBe(true);
    },
  );

  it("[K-20] an id that cannot be kept is refused, and says why", async () => {
    const amends = await database.amends({ sagas: [order] });
    const wrong: [unknown, RegExp][] = [
      ["", /must not be empty/],
      ["x".repeat(181), /at most 180 characters/],
      ["a\0b", /NUL/],
      ["\uDC00", /surrogate/],
      [7, /must be a text/],
    ];
    for (const [id, message] of wrong) {
      await expect(amends.start(order, fine, { id: id as string })).rejects.toMatchObject({
        code: "BAD_ID",
        message: expect.stringMatching(message) as unknown,
      });
    }
    for (const id of ["__proto__", "مرحبا", "' or 1=1 --", '"{}\\', "a\nb"]) {
      expect((await amends.start(order, fine, { id })).id).toBe(id);
    }
    expect(await (await onlooker(database)).count()).toBe(5);
  });

  it.each([
    ["a cycle", cycle()],
    ["a bigint", 1n],
    ["a symbol", Symbol("x")],
    ["too deep", nested(65)],
    ["too large", "x".repeat(1_048_577)],
    [
      "a toJSON that throws",
      {
        toJSON: () => {
          throw new Error("no");
        },
      },
    ],
  ])(
    "[K-15] a result that cannot be stored (%s) is permanent: the step is undone, the worker lives on",
    async (_, value) => {
      const undone: unknown[] = [];
      let calls = 0;
      const bad = saga("bad", z.object({})).step("one", {
        act: () => {
          calls += 1;
          return value as string;
        },
        compensate: ({ result }) => void undone.push(result),
      });
      const amends = await database.amends({ sagas: [bad, order] });
      await database.worker(amends);
      expect(await (await amends.start(bad, {})).result()).toMatchObject({
        status: "FAILED",
        step: "one",
        error: { kind: "unfit", label: "ResultNotJson" },
      });
      expect([calls, undone]).toEqual([1, [undefined]]);
      expect(await (await amends.start(order, fine)).result()).toMatchObject({ status: "COMPLETED" });
    },
  );

  it("[K-16] an err whose value cannot be stored is permanent too, and leaks nothing", async () => {
    const { err } = await import("amends");
    const bad = saga("bad", z.object({})).step("one", { act: () => err(cycle() as { a: string }) });
    const amends = await database.amends({ sagas: [bad] });
    await database.worker(amends);
    expect(await (await amends.start(bad, {})).result()).toMatchObject({
      status: "FAILED",
      error: { kind: "unfit", label: "ResultNotJson" },
    });
  });

  it("[K-19] a worker that does not know a saga leaves it alone, says so, and lives on", async () => {
    const look = await onlooker(database);
    const knows = await database.amends({ sagas: [order] });
    const { id } = await knows.start(order, fine);
    const warnings: unknown[] = [];
    const logger = {
      info: () => undefined,
      warn: (fields: object, message: string) => void warnings.push({ ...fields, message }),
      error: () => undefined,
    };
    for (const sagas of [[], [anything]] as AnySaga[][]) {
      const other = await database.amends({ sagas, logger });
      expect(await other.worker().runOnce()).toBe(0);
    }
    const warning = {
      saga: "order",
      version: 1,
      sagas: 1,
      message: "amends: open sagas of a kind that is not registered here are left alone",
    };
    expect(warnings).toEqual([warning, warning]);
    expect((await look.row(id))["status"]).toBe("PENDING");
    expect(await knows.worker().runOnce()).toBe(1);
    expect((await look.row(id))["status"]).toBe("COMPLETED");
  });

  it("[K-20] options that make no sense are refused when they are given", async () => {
    const db: Database = await database.open();
    const make = (options: object): Amends => new Amends({ database: db, ...options });
    const code = (name: string): unknown => expect.objectContaining({ code: name });
    expect(() => new Amends({} as unknown as { database: Database })).toThrow(code("BAD_OPTION"));
    expect(() => make({ lease: "0s" })).toThrow(code("BAD_DURATION"));
    expect(() => make({ lease: "forever" })).toThrow(code("BAD_DURATION"));
    expect(() => make({}).worker({ concurrency: 0 })).toThrow(code("BAD_OPTION"));
    expect(() => make({}).worker({ poll: 0 })).toThrow(code("BAD_DURATION"));
  });
});
