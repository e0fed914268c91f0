/** An application with every part of Amends, on a database of its own, and a client for its own transactions. */
import { Amends, ok, saga, signal, type AnySaga } from "amends";
import { defineCall } from "amends/calls";
import { dataMap } from "amends/erasure";
import { event, handler } from "amends/events";
import { postgres, type Database, type Joins } from "amends/postgres";
import pg from "pg";
import { onTestFinished } from "vitest";
import { z } from "zod";
import type { Duration } from "../../src/core/duration.ts";
import { makePlace } from "../support/places.ts";
import type { OpenClient, TestClient } from "./client.ts";

const Order = z.object({ sku: z.string() });
export const approved = signal("approved", z.object({ by: z.string() }));
export const order = saga("order", Order).waitFor("approval", { signal: approved, timeout: "3d" });
export const OrderPlaced = event("OrderPlaced", Order);
const OrderAudited = event("OrderAudited", Order);
const AuditFailed = event("AuditFailed", Order);
const audit = handler("audit", {
  on: OrderPlaced,
  ok: OrderAudited,
  err: AuditFailed,
  handle: (placed) => ok(OrderAudited(placed)),
});
export const sendMail = defineCall("send-mail", { schema: Order, handle: () => undefined });

const people = dataMap({
  users: {
    subject: "id",
    columns: {
      email: { category: "email", strategy: "anonymize" },
      name: { category: "name", strategy: "delete" },
      newsletter: { category: "consent", strategy: "anonymize" },
    },
  },
});

const TABLES = `
  create table notes (text text primary key);
  create table users (id text primary key, email varchar(60) not null unique, name text, newsletter boolean not null);
  insert into users select 'user-' || n, 'user-' || n || '@shop.example', 'User', true from generate_series(1, 20) as n;
`;

export interface Shop {
  readonly amends: Amends<unknown, "email" | "name" | "consent">;
  readonly client: OpenClient;
  /** How many rows there are of each kind. */
  counts(): Promise<Readonly<Record<string, number>>>;
  rows<Of extends object>(text: string): Promise<readonly Of[]>;
}

export interface ShopOptions {
  /** The connections of the client. Default: 4. */
  readonly connections?: number;
  /** How long Amends waits for a caller's transaction. Default: 15s. */
  readonly callTimeout?: Duration;
  /** Another saga, made for the client. */
  readonly saga?: (client: OpenClient) => AnySaga;
}

function databaseOf(url: string, joins: Joins<unknown> | undefined, callTimeout: Duration): Database {
  const settings = { url, connections: 2, callTimeout };
  return joins ? postgres({ ...settings, joins }) : postgres(settings);
}

/** How many rows `placeOrder` writes. */
export const NOTHING = {
  notes: 0,
  sagas: 0,
  signals: 0,
  events: 0,
  webhooks: 0,
  calls: 0,
  schedules: 0,
  erasures: 0,
};
export const ONE_ORDER = {
  notes: 1,
  sagas: 2,
  signals: 1,
  events: 2,
  webhooks: 1,
  calls: 1,
  schedules: 1,
  erasures: 2,
};

export async function openShop(
  test: TestClient,
  { connections = 4, callTimeout = "15s", saga: more }: ShopOptions = {},
): Promise<Shop> {
  const place = await makePlace("postgres", "migrated");
  const own = new pg.Pool({ connectionString: place.at, max: 1 });
  own.on("error", () => undefined);
  await own.query(TABLES);
  const client = await test.open(place.at, connections);
  const amends = new Amends({
    database: databaseOf(place.at, client.joins, callTimeout),
    sagas: [order, ...(more ? [more(client)] : [])],
    events: [audit],
    calls: [sendMail],
    webhooks: {},
    erasure: { dataMap: people },
  });
  onTestFinished(async () => {
    await client.close();
    await amends.close({ deadline: "0s" });
    await own.end();
    await place.remove();
  });
  const rows: Shop["rows"] = async <Of extends object>(text: string) => (await own.query<Of>(text)).rows;
  return {
    amends,
    client,
    rows,
    async counts() {
      const [found = {}] = await rows<Record<string, string>>(`select
        (select count(*) from notes) as notes, (select count(*) from amends.saga_executions) as sagas,
        (select count(*) from amends.saga_signals) as signals,
        (select count(*) from amends.outbox where kind = 'delivery') as events,
        (select count(*) from amends.webhook_events) as webhooks,
        (select count(*) from amends.outbox where kind = 'call') as calls,
        (select count(*) from amends.schedules) as schedules,
        (select count(*) from users where newsletter = false or name = 'Corrected') as erasures`);
      return Object.fromEntries(Object.entries(found).map(([name, count]) => [name, Number(count)]));
    },
  };
}
