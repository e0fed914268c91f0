/** A marker in every personal place, and a search for it everywhere after the erasure. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { memoryResolver, virtualClock, type VirtualClock } from "amends/testing";
import pg from "pg";
import { describe, expect, it } from "vitest";
import { onDatabase, onEachDatabase } from "../support/databases.ts";
import { openShop, type Shop } from "./support/shop.ts";

const MARK = "canary7f3e";
const HOUR_MS = 3_600_000;
const refs = [
  { kind: "stripe", value: "cus_1" },
  { kind: "newsletter", value: `ann.${MARK}.ref@example.org` },
];

interface Watched {
  readonly shop: Shop;
  readonly logged: string[];
  readonly clock: VirtualClock;
}

/** Ann's data everywhere: in the shop's tables, corrected, in the entries of calls that wait, fail and succeed. */
async function liveAndBeErased(
  database: Parameters<Parameters<typeof onEachDatabase>[0]>[0],
): Promise<Watched> {
  const logged: string[] = [];
  const log = (fields: object, message: string): void => void logged.push(JSON.stringify(fields) + message);
  const clock = virtualClock();
  const stripe = memoryResolver("stripe");
  const newsletter = memoryResolver("newsletter", { personalRef: true });
  const shop = await openShop(database, {
    clock,
    resolvers: [stripe, newsletter],
    logger: { info: log, warn: log, error: log },
    onAbandoned: (signal) => void logged.push(JSON.stringify(signal)),
    retry: { attempts: 2 },
  });
  const { own, erasure } = shop;
  const old = database.name === "postgres" ? "'2001-01-01T00:00:00Z'" : "978307200000";
  for (let n = 0; n < 40; n++) {
    await own.exec(`insert into users values ('s${n}', 's${n}@example.org', 'somebody', '')`);
    await own.exec(`insert into messages values ('x${n}', 's${n}', '${"filler ".repeat(20)}')`);
  }
  await own.exec(`insert into users values ('ann', '${MARK}.mail@example.org', '${MARK} name', '')`);
  for (let n = 0; n < 40; n++)
    await own.exec(
      `insert into messages values ('m${n}', 'ann', '${MARK} message ${n} ${"lorem ".repeat(n * 5)}')`,
    );
  await own.exec(`insert into orders values ('o1', 'ann', 5, ${old}, '${MARK} invoice', '${MARK} note')`);
  stripe.put("cus_1", { name: `${MARK} outside` });

  await own.transaction((tx) =>
    erasure.rectifySubject("ann", [{ category: "name", value: `${MARK} corrected` }], refs, { tx }),
  );
  newsletter.goDown({ throws: new Error(`${MARK} in a message`) });
  stripe.troubleNext({ throws: new TypeError(`${MARK} thrown`) });
  await shop.amends.worker().runOnce();
  const outbox = await own.rows(`select * from ${shop.db.dialect.table("outbox").text}`);
  expect(JSON.stringify(outbox)).toContain(`${MARK} corrected`);
  await own.transaction((tx) => erasure.eraseSubject("ann", refs, { tx }));
  // Time passes until every call has succeeded or was given up; then the newsletter is back.
  const DAYS = 3;
  for (let day = 0; day < DAYS; day++) {
    clock.jump(86_400_000);
    await shop.amends.worker().runOnce();
  }
  newsletter.comeBack();
  const { entries } = await erasure.outbox.listAbandoned();
  await erasure.outbox.requeue(
    entries.map(({ entryId }) => entryId),
    { reason: "it is back" },
  );
  await shop.amends.worker().runOnce();
  await erasure.recorded();
  logged.push(
    JSON.stringify([
      await erasure.trail("ann"),
      await erasure.overdue({ deadline: "1s" }),
      await shop.amends.attention.list(),
    ]),
  );
  expect(await shop.trail("ann")).toContain("ERASURE_COMPLETED");
  return { shop, logged, clock };
}

onEachDatabase((database) => {
  it("[E-10] a marker in every personal column and payload is found in no table, log, event, signal or report afterwards", async () => {
    const { shop, logged } = await liveAndBeErased(database);
    expect(logged.length).toBeGreaterThan(1);
    expect(logged.join("\n")).not.toContain(MARK);
    const found: string[] = [];
    for (const table of await tablesOf(database.name, await database.place(), shop)) {
      const rows = JSON.stringify(await shop.own.rows(`select * from ${table}`), (_key, value: unknown) =>
        typeof value === "bigint" ? String(value) : value,
      );
      if (rows.includes(MARK)) found.push(table);
    }
    expect(found).toEqual([]);
  });
});

onDatabase("sqlite", (database) => {
  describe("the files", () => {
    it("[E-10] not a byte of it is left in the database's file or in the write-ahead file, once the worker has cleaned up", async () => {
      const { shop, clock } = await liveAndBeErased(database);
      clock.jump(HOUR_MS);
      expect(await shop.amends.worker().runOnce()).toBe(0);
      expect(filesWith(await database.place())).toEqual([]);
    });

    it("[E-10] rows that SQLite moved from page to page leave nothing behind, either", async () => {
      const shop = await openShop(database);
      await shop.own.exec("insert into users values ('ann', 'a@x', 'ann', ''), ('ben', 'b@x', 'ben', '')");
      for (let n = 0; n < 300; n++) {
        const who = n % 3 === 0 ? "ann" : "ben";
        // Neither the ids nor the lengths come in order, so pages are split and rows are moved.
        const body = `${who === "ann" ? MARK : "filler"}${"x".repeat((n * 97) % 311)}`;
        await shop.own.exec(`insert into messages values ('${(n * 7_919) % 1_009}', '${who}', '${body}')`);
      }
      await shop.own.transaction((tx) => shop.erasure.eraseSubject("ann", [], { tx }));
      await shop.amends.worker().runOnce();
      expect(filesWith(await database.place())).toEqual([]);
    });

    it("[E-10] a file with virtual tables is rebuilt only when it is asked for, and the operator is told", async () => {
      const logged: string[] = [];
      const log = (_fields: object, message: string): void => void logged.push(message);
      const shop = await openShop(database, { logger: { info: log, warn: log, error: log } });
      await shop.own.exec("create virtual table finder using fts5(body)");
      await shop.own.exec(`insert into users values ('ann', '${MARK}@x', '${MARK}', '')`);
      await shop.own.transaction((tx) => shop.erasure.eraseSubject("ann", [], { tx }));
      for (let round = 0; round < 2; round++) await shop.amends.worker().runOnce();
      expect(logged.filter((message) => message.includes("virtual tables"))).toHaveLength(1);
      expect(await shop.erasure.cleanUp()).toBe(true);
      expect(filesWith(await database.place())).toEqual([]);
    });

    it("[E-10] without a worker, cleanUp does it after the commit, and says when somebody still reads the old state", async () => {
      const shop = await openShop(database);
      await shop.own.exec(`insert into users values ('ann', '${MARK}@x', '${MARK}', '')`);
      await shop.erasure.cleanUp();
      expect(filesWith(await database.place())).not.toEqual([]);
      const reader = await openShop(database, { tables: "" });
      await reader.own.exec("begin");
      await reader.own.rows("select * from users");
      await shop.own.transaction((tx) => shop.erasure.eraseSubject("ann", [], { tx }));
      expect(await shop.erasure.cleanUp()).toBe(false);
      await reader.own.exec("commit");
      expect(await shop.erasure.cleanUp()).toBe(true);
      expect(filesWith(await database.place())).toEqual([]);
    });
  });
});

/** Files beside the database that hold the marker. */
function filesWith(place: string): readonly string[] {
  const folder = path.dirname(place);
  return readdirSync(folder).filter((name) => readFileSync(path.join(folder, name)).includes(MARK));
}

async function tablesOf(name: "postgres" | "sqlite", place: string, shop: Shop): Promise<readonly string[]> {
  if (name === "sqlite") {
    const rows = await shop.own.rows("select name from sqlite_schema where type = 'table'");
    return rows.map((row) => row["name"] as string);
  }
  const client = new pg.Client(place);
  await client.connect();
  const { rows } = await client.query<{ name: string }>(
    "select format('%I.%I', table_schema, table_name) as name from information_schema.tables where table_schema in ('public', 'amends')",
  );
  await client.end();
  return rows.map((row) => row.name);
}
