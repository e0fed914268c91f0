/** Whatever statement of a request fails, nothing of the request is left in the caller's transaction. */
import { memoryResolver } from "amends/testing";
import { expect, it } from "vitest";
import { onEachDatabase } from "../support/databases.ts";
import { movePeopleIn, openShop, type Shop } from "./support/shop.ts";

class Fault extends Error {}

/** The caller's connection, on which one statement fails: the n-th. Counts those that there were. */
function failing(tx: unknown, at: number): { readonly tx: unknown; readonly seen: () => number } {
  let seen = 0;
  const count = (): void => {
    seen += 1;
    if (seen === at) throw new Fault("the n-th statement");
  };
  const wrapped = new Proxy(tx as object, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function" || name === "constructor") return value;
      return (...args: unknown[]): unknown => {
        if (name === "query") count(); // pg
        const result: unknown = Reflect.apply(value, target, args);
        return name === "prepare" ? failingStatement(result as object, count) : result;
      };
    },
  });
  return { tx: wrapped, seen: () => seen };
}

function failingStatement(statement: object, count: () => void): object {
  return new Proxy(statement, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]): unknown => {
        if (name === "all" || name === "run") count();
        return Reflect.apply(value, target, args);
      };
    },
  });
}

async function everything(shop: Shop): Promise<string> {
  const tables = [
    "users",
    "messages",
    "orders",
    ...["outbox", "subjects"].map((name) => shop.db.dialect.table(name).text),
  ];
  const rows: unknown[] = [];
  for (const table of tables) rows.push(table, ...(await shop.own.rows(`select * from ${table} order by 1`)));
  return JSON.stringify(rows);
}

onEachDatabase((database) => {
  it(
    "[E-02][E-08] a request that fails at any of its statements leaves nothing behind, also where the caller commits all the same",
    { timeout: 120_000 },
    async () => {
      const shop = await openShop(database, { resolvers: [memoryResolver("crm")] });
      await movePeopleIn(shop, database.name);
      const refs = [{ kind: "crm", value: "c" }];
      await shop.own.transaction((tx) =>
        shop.erasure.rectifySubject("ann", [{ category: "name", value: "waits" }], refs, { tx }),
      );
      const requests: readonly ((tx: unknown) => Promise<unknown>)[] = [
        (tx) => shop.erasure.rectifySubject("ann", [{ category: "name", value: "never" }], refs, { tx }),
        (tx) => shop.erasure.eraseSubject("ann", refs, { tx }),
      ];
      for (const request of requests) {
        const before = await everything(shop);
        let seen = 0;
        let end = "";
        for (let at = 1; end !== "done"; at++) {
          const fault = failing(shop.own.tx, at);
          await shop.own.exec("begin");
          end = await request(fault.tx).then(
            () => "done",
            (error: unknown) => (error as Error).constructor.name,
          );
          seen = fault.seen();
          // Whoever got through is taken back, so that the next request finds the same; whoever failed commits.
          await shop.own.exec(end === "done" ? "rollback" : "commit");
          await shop.erasure.recorded();
          // That it failed is on record, in tables of its own; nothing else is.
          await shop.own.exec(
            `update ${shop.db.dialect.table("subjects").text} set failing_since = null, last_error = null, last_note = null`,
          );
          expect([at, ["Fault", "AmendsError", "done"].includes(end), await everything(shop)]).toEqual([
            at,
            true,
            before,
          ]);
        }
        expect(seen).toBeGreaterThan(15);
      }
      const trail = (await shop.trail("ann")).filter((type) => !/REQUESTED|FAILED/.test(type));
      expect(trail).toEqual(["RECTIFICATION_LOCAL_COMPLETED"]);
    },
  );
});
