/** Attributes are written with the start, follow the saga, and leave with it. */
import { saga, sagaRef } from "amends";
import type { Attributes } from "amends/sagas";
import { expect, it } from "vitest";
import { z } from "zod";
import { sql } from "../../src/storage/sql.ts";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { onlooker } from "./support/look.ts";

const nothing = z.object({});
const order = saga("order", nothing).step("one", { act: () => 1 });
const declared = saga("declared", nothing, { attributes: ["tenant", "region"] }).step("one", {
  act: () => 1,
});

/** Every kind of value, and the ends of what is allowed. */
const ALL: Attributes = {
  tenant: "acme",
  number: 1,
  "the.same-as_text": "1",
  fraction: -0.25,
  large: 1.7976931348623157e308,
  yes: true,
  no: false,
  empty: "",
  quotes: `"'\\\n\u001f\u2028é🦑`,
  control: "\u0001".repeat(255),
  wide: "漢".repeat(255),
};

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  /** The rows of a saga's attributes, as `name value saga status`. */
  async function rowsOf(id: string): Promise<readonly string[]> {
    const { db } = await onlooker(database);
    const rows = await db.query(
      sql`select name, value, saga_name, status from ${db.dialect.table("saga_attributes")} where saga_id = ${id} order by name`,
    );
    return rows.map((row) => ["name", "value", "saga_name", "status"].map((key) => row[key]).join(" "));
  }

  it('[S-39] attributes are stored with the start, shown in the view, and kept as JSON, so that 1 is not "1"', async () => {
    const amends = await database.amends({ sagas: [order] });
    const id = "漢".repeat(180);
    await amends.start(order, {}, { id, attributes: ALL });
    expect((await amends.inspect(id))?.attributes).toEqual(ALL);
    expect(await rowsOf(id)).toEqual(
      Object.entries(ALL)
        .map(([name, value]) => `${name} ${JSON.stringify(value)} order PENDING`)
        .toSorted(),
    );
    await amends.start(order, {}, { id: "plain" });
    await amends.start(order, {}, { id: "none", attributes: {} });
    expect((await amends.inspect("plain"))?.attributes).toEqual({});
    expect([...(await rowsOf("plain")), ...(await rowsOf("none"))]).toEqual([]);
  });

  it("[S-39] they follow the saga to its end, whether it ends, fails or is cancelled", async () => {
    const fails = saga("fails", nothing, { retry: { attempts: 1 } }).step("one", {
      act: () => Promise.reject(new TypeError("no")),
    });
    const amends = await database.amends({ sagas: [order, fails] });
    const attributes = { tenant: "acme", tier: 2 };
    await amends.start(order, {}, { id: "done", attributes });
    await amends.start(fails, {}, { id: "failed", attributes });
    await amends.start(order, {}, { id: "cancelled", attributes, delay: "1h" });
    await amends.cancel("cancelled", { reason: "no" });
    while ((await amends.worker().runOnce()) > 0);
    for (const [id, name, status] of [
      ["done", "order", "COMPLETED"],
      ["failed", "fails", "FAILED"],
      ["cancelled", "order", "FAILED"],
    ] as const)
      expect(await rowsOf(id)).toEqual([`tenant "acme" ${name} ${status}`, `tier 2 ${name} ${status}`]);
    expect((await amends.inspect("done"))?.attributes).toEqual(attributes);
  });

  it("[S-39] an existing saga keeps its own, in the caller's transaction too", async () => {
    const db = await database.open();
    const amends = await database.amends({ database: db, sagas: [order] });
    await amends.start(order, {}, { id: "o-1", attributes: { tenant: "acme" } });
    await amends.start(order, {}, { id: "o-1", attributes: { tenant: "other", tier: 1 } });
    await db.transaction(async (_session, tx) => {
      await amends.start(order, {}, { id: "o-1", attributes: { region: "eu" }, tx });
      await amends.start(order, {}, { id: "o-2", attributes: { region: "eu" }, tx });
    });
    const rolledBack = db.transaction(async (_session, tx) => {
      await amends.start(order, {}, { id: "o-3", attributes: { region: "eu" }, tx });
      throw new Error("rolled back");
    });
    await expect(rolledBack).rejects.toThrow("rolled back");
    expect(await rowsOf("o-1")).toEqual([`tenant "acme" order PENDING`]);
    expect(await rowsOf("o-2")).toEqual([`region "eu" order PENDING`]);
    expect(await rowsOf("o-3")).toEqual([]);
  });

  it("[S-39][P-06] retention removes them with the saga, and the archive keeps them", async () => {
    const clock = virtualClock();
    const attributes = { tenant: "acme", tier: 2 };
    const amends = await database.amends({
      sagas: [order],
      clock,
      retention: { sagas: { completed: "1h", archive: true } },
    });
    await amends.start(order, {}, { id: "o-1", attributes });
    await amends.worker().runOnce();
    clock.jump(2 * 3_600_000);
    await amends.retention.runOnce();
    expect(await amends.inspect("o-1")).toBeUndefined();
    expect(await rowsOf("o-1")).toEqual([]);
    expect((await amends.archived("o-1"))?.view.attributes).toEqual(attributes);
    // The id is free again, and so is everything that belonged to it.
    await amends.start(order, {}, { id: "o-1", attributes: { tenant: "other" } });
    expect(await rowsOf("o-1")).toEqual([`tenant "other" order PENDING`]);
  });

  it("[S-39] what cannot be an attribute is refused, and nothing is written", async () => {
    const amends = await database.amends({ sagas: [order] });
    const many = Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`a${n}`, n]));
    for (const [attributes, message] of [
      [many, /at most 16 attributes \(there are 17\)/],
      [{ "9lives": 1 }, /"9lives" cannot be the name of an attribute/],
      [{ [`a${"b".repeat(64)}`]: 1 }, /cannot be the name of an attribute/],
      [{ tenant: "x".repeat(256) }, /attribute tenant must be .* at most 255 characters/],
      [{ tenant: "a\0b" }, /without NUL/],
      [{ tenant: "\ud800" }, /well-formed/],
      [{ tenant: Number.NaN }, /a finite number/],
      [{ tenant: null }, /attribute tenant must be/],
      [{ tenant: undefined }, /attribute tenant must be/],
      [{ tenant: ["acme"] }, /attribute tenant must be/],
      [["tenant"], /`attributes` must be an object/],
      ["tenant", /`attributes` must be an object/],
    ] as const)
      await expect(amends.start(order, {}, { attributes: attributes as never })).rejects.toMatchObject({
        code: "BAD_OPTION",
        message,
        details: { field: "attributes" },
      });
    expect(await (await onlooker(database)).count()).toBe(0);
  });

  it("[S-39] a definition that declares names takes those and no others, and so does a reference", async () => {
    const web = await database.amends({});
    const amends = await database.amends({ sagas: [declared] });
    const reference = sagaRef("declared", nothing, { attributes: ["tenant"] });
    await amends.start(declared, {}, { id: "d-1", attributes: { tenant: "acme" } });
    await web.start(reference, {}, { id: "d-2", attributes: { tenant: "acme" } });
    const other = { tier: 1 } as object;
    for (const refused of [
      amends.start(declared, {}, { attributes: other }),
      web.start(reference, {}, { attributes: other }),
    ])
      await expect(refused).rejects.toMatchObject({
        code: "BAD_OPTION",
        message: /there is no attribute named tier\. There are: tenant/,
      });
    expect(await (await onlooker(database)).count()).toBe(2);
  });
});

it("[S-39][S-01] a bad declaration of attributes fails when the saga is defined", () => {
  const define = (attributes: unknown) => () => saga("order", nothing, { attributes: attributes as never });
  expect(define("tenant")).toThrow(/`attributes` must be a list of names/);
  expect(define(["tenant", "tenant"])).toThrow(/names one attribute twice/);
  expect(define(["9lives"])).toThrow(/an attribute's name must be/);
  expect(define(Array.from({ length: 17 }, (_, n) => `a${n}`))).toThrow(/at most 16 names/);
});
