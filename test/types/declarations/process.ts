/** Databases, the console, audit and tests, without an annotation. */
import { Amends, saga } from "amends";
import { DatabaseAuditSink } from "amends/audit";
import { defineConfig } from "amends/config";
import { createConsole } from "amends/console";
import { knex } from "amends/knex";
import { postgres, transaction } from "amends/postgres";
import { workHandler } from "amends/serverless";
import { openSqlite, sqlite, transaction as sqliteTransaction } from "amends/sqlite";
import { MemorySagaStorage } from "amends/storage";
import { memoryResolver, prove, testKit, virtualClock } from "amends/testing";
import { typeorm } from "amends/typeorm";
import { z } from "zod";

interface Manager {
  readonly mine: true;
}
declare const dataSource: { readonly manager: Manager };
declare const db: { transaction(): Promise<{ commit(): void; rollback(): void }> };

export const managers = typeorm(dataSource);
export const transactions = knex(db as never);
export const onPostgres = new Amends({
  database: postgres({ url: "postgres://localhost/shop", joins: managers }),
});
export const onSqlite = new Amends({ database: sqlite(":memory:") });
export const onStorage = new Amends({ storage: new MemorySagaStorage() });
export const handle = openSqlite(":memory:");
export const kinds = { transaction, sqliteTransaction };
export const written = saga("written", z.object({}))
  .step("reserve", { transaction: managers, act: ({ tx }) => tx.mine })
  .step("note", { transaction: managers, act: () => undefined });
export const audit = new DatabaseAuditSink(sqlite(":memory:"));
export const config = defineConfig({ database: sqlite(":memory:") });
export const pages = createConsole(onSqlite);
export const work = workHandler(onSqlite, { secret: "s".repeat(32), budget: "5s" });
export const clock = virtualClock();
export const resolver = memoryResolver("crm");
export const sync = onSqlite.sync;

export function kit() {
  return testKit((database) => new Amends({ database, sagas: [written] }));
}
export async function calls() {
  return (await kit()).calls;
}
export function proof() {
  return prove(written, { input: {} });
}
