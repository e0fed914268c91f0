/** The same shop on SQLite and on PostgreSQL: what differs is how a transaction of one's own is made. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Database } from "amends";
import { postgres } from "amends/postgres";
import { openSqlite, sqlite } from "amends/sqlite";
import type { VirtualClock } from "amends/testing";
import pg from "pg";

export interface ShopDatabase {
  readonly dialect: "postgres" | "sqlite";
  /** What Amends works on. */
  readonly database: Database;
  /** Your own connection: several statements, and a transaction that commits unless the work throws. */
  exec(text: string): Promise<void>;
  rows(text: string): Promise<readonly object[]>;
  transaction<T>(work: (tx: unknown) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export async function openDatabase(url: string | undefined, clock: VirtualClock): Promise<ShopDatabase> {
  const own = url === undefined ? onSqlite(clock) : await onPostgres(url, clock);
  return {
    ...own,
    async transaction(work) {
      await own.exec("begin");
      try {
        const result = await work(own.tx);
        await own.exec("commit");
        return result;
      } catch (error) {
        await own.exec("rollback");
        throw error;
      }
    },
  };
}

type Connection = Omit<ShopDatabase, "transaction"> & { readonly tx: unknown };

function onSqlite(clock: VirtualClock): Connection {
  const folder = mkdtempSync(path.join(tmpdir(), "amends-example-"));
  const file = path.join(folder, "shop.db");
  const handle = openSqlite(file);
  return {
    dialect: "sqlite",
    database: sqlite(file, { clock }),
    tx: handle,
    exec: async (text) => void handle.exec(text),
    rows: async (text) => handle.prepare(text).all() as object[],
    close: async () => {
      handle.close();
      rmSync(folder, { recursive: true });
    },
  };
}

async function onPostgres(url: string, clock: VirtualClock): Promise<Connection> {
  const client = new pg.Client(url);
  await client.connect();
  return {
    dialect: "postgres",
    database: postgres({ url, clock }),
    tx: client,
    exec: async (text) => void (await client.query(text)),
    rows: async (text) => (await client.query<object>(text)).rows,
    close: () => client.end(),
  };
}
