/** A table of the user's own in the database of the sagas, written through the transaction that a step was given. */
import { transaction as ofPostgres } from "amends/postgres";
import type { TransactionKind } from "amends/sagas";
import { transaction as ofSqlite, type SqliteHandle } from "amends/sqlite";
import type pg from "pg";
import type { Database } from "../../../src/storage/database.ts";
import { raw } from "../../../src/storage/sql.ts";
import type { DatabaseName } from "../../support/databases.ts";

/** What `transaction` of a step takes on this database. */
export function transactionOn(name: DatabaseName): TransactionKind<unknown> {
  return name === "postgres" ? ofPostgres : ofSqlite;
}

/** Any statement, through the step's own transaction. */
export async function write(tx: unknown, text: string): Promise<void> {
  if ("query" in (tx as object)) await (tx as pg.ClientBase).query(text);
  else (tx as SqliteHandle).exec(text);
}

export async function makeEffects(db: Database): Promise<void> {
  await db.query(raw("create table effects (what text not null)"));
}

/** A statement of the step's own that its database refuses for another transaction's sake. */
export async function conflict(name: DatabaseName, tx: unknown, state: "40001" | "40P01"): Promise<void> {
  if (name === "postgres")
    return write(tx, `do $$ begin raise exception 'try again' using errcode = '${state}'; end $$`);
  throw Object.assign(new Error("database is locked"), { code: "SQLITE_BUSY" });
}

export function effect(tx: unknown, what: string): Promise<void> {
  return write(tx, `insert into effects values ('${what}')`);
}

export async function effects(db: Database): Promise<string[]> {
  return (await db.query(raw("select what from effects order by what"))).map((row) => row["what"] as string);
}
