/** A connection of the application's own, which Amends did not make. */
import type { SqliteHandle } from "amends/sqlite";
import pg from "pg";
import { openSqlite } from "../../src/storage/sqlite/driver.ts";
import type { TestDatabase } from "./databases.ts";

export interface Caller {
  /** What operations take as `tx`. */
  readonly tx: unknown;
  exec(text: string): Promise<void>;
  count(table: string): Promise<number>;
  close(): Promise<void>;
}

export async function caller(database: TestDatabase): Promise<Caller> {
  const place = await database.place();
  if (database.name === "postgres") {
    const client = new pg.Client(place);
    await client.connect();
    return {
      tx: client,
      exec: async (text) => void (await client.query(text)),
      count: async (table) =>
        Number((await client.query<{ n: string }>(`select count(*) as n from ${table}`)).rows[0]?.n),
      close: () => client.end(),
    };
  }
  const handle = openSqlite(place);
  return {
    tx: handle,
    exec: async (text) => void handle.exec(text),
    count: async (table) => countIn(handle, table),
    close: async () => void handle.close(),
  };
}

export function countIn(handle: SqliteHandle, table: string): number {
  return (handle.prepare(`select count(*) as n from ${table}`).all()[0] as { n: number }).n;
}
