import { saga, type AmendsError } from "amends";
import fc from "fast-check";
import { expect, it } from "vitest";
import { z } from "zod";
import { sql } from "../../src/storage/sql.ts";
import { anyText } from "../support/any-text.ts";
import { onEachDatabase } from "../support/databases.ts";

const open = saga("open", z.unknown()).step("one", { act: ({ input }) => input });

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = [value];
  return value;
}

onEachDatabase((database) => {
  it("[K-20] bad ids are refused with the field's name, and nothing is written", async () => {
    const db = await database.open();
    const amends = await database.amends({ sagas: [open], database: db });
    for (const id of ["", "a\0b", "x".repeat(181), "x".repeat(1_048_576), "\ud800", 7, null, {}]) {
      await expect(amends.start(open, {}, { id: id as string })).rejects.toMatchObject({
        code: "BAD_ID",
        message: expect.stringContaining("The id of a saga") as string,
      });
    }
    expect(await db.query(sql`select id from ${db.dialect.table("saga_executions")}`)).toEqual([]);
  });

  it("[K-20] inputs that are too deep, too large, or cannot be kept are refused, and nothing is written", async () => {
    const db = await database.open();
    const amends = await database.amends({ sagas: [open], database: db });
    const inputs: unknown[] = [
      nested(65),
      "x".repeat(1_048_576),
      { text: "a\0b" },
      ["\ud800"],
      1n,
      {
        toJSON: () => {
          throw new Error("canary");
        },
      },
      JSON.parse('{"__proto__":1}'),
      () => 1,
    ];
    for (const input of inputs) {
      await expect(amends.start(open, input)).rejects.toMatchObject({
        code: "BAD_INPUT",
        message: expect.stringContaining("The input of saga open") as string,
      });
    }
    expect(await db.query(sql`select id from ${db.dialect.table("saga_executions")}`)).toEqual([]);
  });

  it("[K-20] an input that does not fit its schema is refused with the path of every issue", async () => {
    const strict = saga("strict", z.object({ lines: z.array(z.object({ cents: z.number() })) })).step("one", {
      act: () => 1,
    });
    const amends = await database.amends({ sagas: [strict] });
    const wrong = { lines: [{ cents: 1 }, { cents: "2" }] } as never;
    const error = await amends.start(strict, wrong, { id: "one" }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "BAD_INPUT", details: { issues: [{ path: "lines.1.cents" }] } });
    expect(await amends.inspect("one")).toBeUndefined();
  });

  it("[K-20] asking for a saga by an id that cannot exist is a typed answer, whatever the id is", async () => {
    const amends = await database.amends({ sagas: [open] });
    const note = { reason: "why" };
    for (const id of ["", "nobody", "a\0b", "\ud800", "x".repeat(10_000), "' or 1=1 --", "__proto__"]) {
      const answers = await Promise.all([
        amends.get(id).catch((error: unknown) => error),
        amends.cancel(id, note).catch((error: unknown) => error),
        amends.retry(id, note).catch((error: unknown) => error),
      ]);
      for (const answer of answers) {
        expect([id.slice(0, 20), answer]).toMatchObject([
          id.slice(0, 20),
          { code: expect.stringMatching(/^(SAGA_NOT_FOUND|BAD_ID)$/) as string },
        ]);
      }
    }
  });

  it("[K-20] an order of a person needs a reason that fits, or nothing is written", async () => {
    const amends = await database.amends({ sagas: [open] });
    await amends.start(open, {}, { id: "one" });
    for (const reason of ["", "   ", "x".repeat(1_001), undefined, 7]) {
      await expect(amends.cancel("one", { reason: reason as string })).rejects.toMatchObject({
        code: "BAD_OPTION",
      });
    }
    expect(await amends.inspect("one")).toMatchObject({ status: "PENDING", revision: 1 });
  });

  it("[K-20] every id and input that is taken comes back exactly as it was", async () => {
    const amends = await database.amends({ sagas: [open] });
    await fc.assert(
      fc.asyncProperty(
        anyText({ minLength: 1, maxLength: 40 }),
        fc.jsonValue({ maxDepth: 3 }),
        async (id, input) => {
          const refusal = await amends.start(open, input, { id }).then(
            () => undefined,
            (error: unknown) => error,
          );
          const codes: unknown[] = [undefined, "BAD_ID", "BAD_INPUT", "SAGA_CONFLICT"];
          expect(codes).toContain((refusal as AmendsError | undefined)?.code);
          if (refusal !== undefined) return;
          const view = await amends.inspect(id);
          expect(view?.id).toBe(id);
          expect(view?.input).toEqual(JSON.parse(JSON.stringify(input)));
        },
      ),
      { numRuns: 60 },
    );
  });

  it("[K-20] names that could be mistaken for others are ordinary data here", async () => {
    const amends = await database.amends({ sagas: [open] });
    const worker = await database.worker(amends);
    for (const id of [
      "__proto__",
      "constructor",
      "'; drop table saga_executions; --",
      "مرحبا\u202eabc",
      "%00",
      "👩‍👩‍👧",
    ]) {
      const outcome = await (await amends.start(open, { id }, { id })).result();
      expect(outcome).toMatchObject({ status: "COMPLETED", id, results: { one: { id } } });
    }
    await worker.stop();
  });
});
