/** A shop with people in it, on each database: its tables, its data map, and a caller with a connection of their own. */
import type { Amends } from "amends";
import { dataMap, type Erasure, type ErasureOptions } from "amends/erasure";
import type { VirtualClock } from "amends/testing";
import pg from "pg";
import { onTestFinished } from "vitest";
import type { Database, Row } from "../../../src/storage/database.ts";
import { raw } from "../../../src/storage/sql.ts";
import { openSqlite } from "../../../src/storage/sqlite/driver.ts";
import type { TestDatabase } from "../../support/databases.ts";

/** The caller's own connection, which Amends did not make. */
export interface Caller {
  readonly tx: unknown;
  exec(text: string): Promise<void>;
  rows(text: string): Promise<readonly Row[]>;
  /** In a transaction that commits, unless the work throws. */
  transaction<T>(work: (tx: unknown) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export async function caller(database: TestDatabase): Promise<Caller> {
  const place = await database.place();
  const own = database.name === "postgres" ? await postgresCaller(place) : sqliteCaller(place);
  onTestFinished(() => own.close());
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

type Connection = Omit<Caller, "transaction">;

async function postgresCaller(place: string): Promise<Connection> {
  const client = new pg.Client(place);
  // The database is thrown away, with whoever is connected, before a test is finished.
  client.on("error", () => undefined);
  await client.connect();
  return {
    tx: client,
    exec: async (text) => void (await client.query(text)),
    rows: async (text) => (await client.query<Row>(text)).rows,
    close: () => client.end().catch(() => undefined),
  };
}

function sqliteCaller(place: string): Connection {
  const handle = openSqlite(place);
  return {
    tx: handle,
    exec: async (text) => void handle.exec(text),
    rows: async (text) => handle.prepare(text).all() as Row[],
    close: async () => void handle.close(),
  };
}

/** Users stay, with surrogates; their messages go; their orders keep an invoice's data for ten years. */
export const shopMap = dataMap({
  users: {
    subject: "id",
    columns: {
      email: { category: "email", strategy: "anonymize" },
      name: { category: "name", strategy: "delete" },
    },
  },
  messages: { via: "users", columns: { body: { category: "message", strategy: "delete" } } },
  orders: {
    via: { table: "users", columns: "user_id" },
    columns: {
      note: { category: "message", strategy: "delete" },
      billing_name: {
        category: "name",
        strategy: "retain",
        policy: {
          reason: "invoices are kept for the tax office",
          legalBasis: "tax law",
          duration: "10y",
          anchor: "placed_at",
        },
      },
    },
  },
});

const instant = { postgres: "timestamptz", sqlite: "integer" } as const;

export function shopTables(name: "postgres" | "sqlite"): string {
  return `
    create table users (id text primary key, email varchar(60) not null unique, name text not null, joined_on text);
    create table messages (id text primary key, user_id text not null references users (id), body text);
    create table orders (id text primary key, user_id text not null references users (id), cents integer not null,
      placed_at ${instant[name]}, billing_name text not null, note text);
  `;
}

export interface Shop {
  readonly amends: Amends;
  readonly db: Database;
  readonly erasure: Erasure;
  readonly own: Caller;
  /** Rows of a table, as the caller sees them. */
  rows(text: string): Promise<readonly Row[]>;
  /** Types of what is on record about a subject. */
  trail(subjectId: string): Promise<readonly string[]>;
}

export interface ShopOptions extends Partial<ErasureOptions> {
  readonly clock?: VirtualClock;
  readonly connections?: number;
  readonly tables?: string;
  readonly logger?: ConstructorParameters<typeof Amends>[0]["logger"];
}

export async function openShop(database: TestDatabase, options: ShopOptions = {}): Promise<Shop> {
  const { clock, connections, tables = shopTables(database.name), logger, ...given } = options;
  const db = await database.open({ clock, ...(connections !== undefined && { connections }) });
  const amends = await database.amends({
    database: db,
    erasure: { dataMap: shopMap, ...given },
    ...(logger && { logger }),
  });
  const { erasure } = amends;
  const own = await caller(database);
  if (tables !== "") await own.exec(tables);
  return {
    amends,
    db,
    erasure,
    own,
    rows: (text) => db.query(raw(text)),
    trail: async (subjectId) => (await erasure.trail(subjectId)).map(({ type }) => type),
  };
}

/** Ten years are over for the orders of 2010, and not for those that were placed now. */
export async function movePeopleIn({ own }: Pick<Shop, "own">, name: "postgres" | "sqlite"): Promise<void> {
  const at = (iso: string): string => (name === "postgres" ? `'${iso}'` : String(Date.parse(iso)));
  for (const who of ["ann", "ben"]) {
    await own.exec(`
      insert into users values ('${who}', '${who}@example.org', '${who} of town', 'monday');
      insert into messages values ('m-${who}-1', '${who}', 'hello from ${who}'), ('m-${who}-2', '${who}', 'more of ${who}');
      insert into orders values
        ('o-${who}-old', '${who}', 100, ${at("2010-01-31T00:00:00Z")}, '${who} invoiced long ago', 'ring ${who}'),
        ('o-${who}-new', '${who}', 200, ${at(new Date().toISOString())}, '${who} invoiced', 'ring ${who} twice');
    `);
  }
}
