/** Erasure and rectification in a synchronous transaction of SQLite: `amends.sync.erasure`. */
import { Amends } from "amends";
import type { AuditSink, TransactionalSink } from "amends/audit";
import { dataMap, type AnyResolver } from "amends/erasure";
import { openSqlite, sqlite, type SqliteHandle } from "amends/sqlite";
import { expect, it, onTestFinished } from "vitest";
import { onDatabase, type TestDatabase } from "../support/databases.ts";

const people = dataMap({
  users: {
    subject: "id",
    columns: {
      email: { category: "email", strategy: "anonymize" },
      name: { category: "name", strategy: "anonymize" },
    },
  },
});

interface Shop {
  readonly amends: Amends<SqliteHandle, "email" | "name">;
  readonly handle: SqliteHandle;
  /** The names of both users, in order. */
  names(): readonly string[];
  transaction<T>(work: (tx: SqliteHandle) => T): T;
}

interface ShopOptions {
  readonly audit?: AuditSink | TransactionalSink | { readonly chain: { readonly key: string } };
  readonly resolvers?: readonly AnyResolver[];
}

async function openShop(database: TestDatabase, options: ShopOptions = {}): Promise<Shop> {
  await database.open();
  const place = await database.place();
  const handle = openSqlite(place);
  handle.exec("create table users (id text primary key, email text not null unique, name text)");
  handle.exec(
    "insert into users values ('ann', 'ann@shop.example', 'Ann'), ('bob', 'bob@shop.example', 'Bob')",
  );
  const amends = new Amends({ database: sqlite(place), erasure: { dataMap: people, ...options } });
  onTestFinished(async () => {
    await amends.close();
    handle.close();
  });
  return {
    amends,
    handle,
    names: () =>
      (handle.prepare("select name from users order by id").all() as { name: string }[]).map(
        ({ name }) => name,
      ),
    transaction(work) {
      handle.exec("begin immediate");
      try {
        const result = work(handle);
        handle.exec("commit");
        return result;
      } catch (error) {
        handle.exec("rollback");
        throw error;
      }
    },
  };
}

onDatabase("sqlite", (database) => {
  it("[C-01] a synchronous erasure and rectification commit and roll back with the transaction", async () => {
    const { amends, names, transaction } = await openShop(database);
    const correct = [{ category: "name", value: "Robert" }] as const;
    const regret = (): void =>
      transaction((tx) => {
        amends.sync.erasure.eraseSubject("ann", [], { tx });
        amends.sync.erasure.rectifySubject("bob", correct, [], { tx });
        throw new Error("regret");
      });
    expect(regret).toThrow("regret");
    expect(names()).toEqual(["Ann", "Bob"]);
    expect(await amends.erasure.trail("ann")).toEqual([]);
    const reports = transaction((tx) => [
      amends.sync.erasure.eraseSubject("ann", [], { tx }),
      amends.sync.erasure.rectifySubject("bob", correct, [], { tx }),
    ]);
    expect(reports).toMatchObject([
      { generation: 1, anonymized: { users: 1 }, completed: true },
      { generation: 1, corrected: { users: 1 }, completed: true },
    ]);
    expect(names()).toEqual(["erased", "Robert"]);
    expect((await amends.erasure.trail("ann")).map(({ type }) => type)).toEqual([
      "ERASURE_REQUESTED",
      "ERASURE_LOCAL_COMPLETED",
      "ERASURE_COMPLETED",
    ]);
  });

  it("[C-01] a synchronous erasure enqueues the calls to other systems, and the worker makes them", async () => {
    const erased: string[] = [];
    const crm: AnyResolver = {
      name: "crm",
      eraseSubject: async (ref) => {
        erased.push(ref.value);
        return {};
      },
    };
    const { amends, transaction } = await openShop(database, { resolvers: [crm] });
    const report = transaction((tx) =>
      amends.sync.erasure.eraseSubject("ann", [{ kind: "crm", value: "c-1" }], { tx }),
    );
    expect(report).toMatchObject({ completed: false, entries: [{ resolver: "crm" }] });
    await amends.erasure.runner.runOnce();
    expect(erased).toEqual(["c-1"]);
  });

  it("[C-01] a synchronous erasure that fails inside a transaction that commits leaves nothing but its failure", async () => {
    const { amends, handle, names, transaction } = await openShop(database);
    handle.exec("create trigger no before update on users begin select raise(abort, 'no'); end");
    transaction((tx) => {
      const erase = (): unknown => amends.sync.erasure.eraseSubject("ann", [], { tx });
      expect(erase).toThrow("The database refused a statement on users");
    });
    expect(names()).toEqual(["Ann", "Bob"]);
    await amends.erasure.recorded();
    expect((await amends.erasure.trail("ann")).map(({ type }) => type)).toEqual([
      "ERASURE_REQUESTED",
      "ERASURE_FAILED",
    ]);
  });

  it("[C-01] an audit sink that must be awaited is refused in a synchronous erasure, and nothing is written", async () => {
    const told: string[] = [];
    const sink: TransactionalSink = {
      appendIn: async (_session, events) => void told.push(...events.map(({ type }) => type)),
    };
    const { amends, names, transaction } = await openShop(database, { audit: sink });
    transaction((tx) => {
      const erase = (): unknown => amends.sync.erasure.eraseSubject("ann", [], { tx });
      expect(erase).toThrow(
        "The audit sink of `erasure.audit` is asynchronous, and a synchronous transaction cannot wait for it.",
      );
    });
    expect(names()).toEqual(["Ann", "Bob"]);
  });

  it("[C-01] a chained trail, and a sink outside the database, work with a synchronous erasure", async () => {
    const chained = await openShop(database, {
      audit: { chain: { key: "0123456789abcdef0123456789abcdef" } },
    });
    chained.transaction((tx) => chained.amends.sync.erasure.eraseSubject("ann", [], { tx }));
    expect((await chained.amends.erasure.trail("ann")).length).toBe(3);
    await database.forget();
    const told: string[] = [];
    const outside = await openShop(database, {
      audit: { append: async (events) => void told.push(...events.map(({ type }) => type)) },
    });
    outside.transaction((tx) => outside.amends.sync.erasure.eraseSubject("ann", [], { tx }));
    expect(told).toEqual([]);
    await outside.amends.worker({ poll: "20ms" }).start();
    await expect.poll(() => told).toContain("ERASURE_COMPLETED");
  });

  it("[C-02] a handle without a transaction is refused in a synchronous erasure, and nothing is written", async () => {
    const { amends, handle, names } = await openShop(database);
    const outside = (): unknown => amends.sync.erasure.eraseSubject("ann", [], { tx: handle });
    expect(outside).toThrow("has no open transaction. Begin one first.");
    const without = (): unknown => amends.sync.erasure.eraseSubject("ann", [], {} as never);
    expect(without).toThrow("pass it as { tx }");
    expect(names()).toEqual(["Ann", "Bob"]);
  });
});
