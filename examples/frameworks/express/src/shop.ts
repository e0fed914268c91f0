/** What the routes use: the database of the service, Amends in the same database, and the orders. */
import { randomUUID } from "node:crypto";
import { Amends } from "amends";
import { postgres } from "amends/postgres";
import pg from "pg";
import { z } from "zod";
import { placeOrder } from "./place-order.ts";

const url = process.env.DATABASE_URL ?? "postgres://localhost/shop";

export const pool = new pg.Pool({ connectionString: url, connectionTimeoutMillis: 5_000 });
pool.on("error", (error) => console.error("An idle connection was lost:", error.message));

export const amends = new Amends({ database: postgres(url), sagas: [placeOrder], logger: console });

/** Can run at every start. A service with a migration tool of its own does this there. */
export async function migrate(): Promise<void> {
  await amends.migrate();
  await pool.query(
    "create table if not exists orders (id text primary key, cents integer not null, status text not null)",
  );
}

export const newOrder = z.object({ cents: z.number().int().positive() });

/** The order and its saga are one commit. */
export async function createOrder({ cents }: z.infer<typeof newOrder>): Promise<string> {
  const orderId = randomUUID();
  await inTransaction(async (tx) => {
    await tx.query("insert into orders (id, cents, status) values ($1, $2, 'new')", [orderId, cents]);
    await amends.start(placeOrder, { orderId, cents }, { id: orderId, tx });
  });
  return orderId;
}

export async function findOrder(id: string): Promise<{ id: string; status: string } | undefined> {
  const { rows } = await pool.query("select id, status from orders where id = $1", [id]);
  return rows[0];
}

async function inTransaction(work: (tx: pg.ClientBase) => Promise<void>): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("begin");
    await work(client);
    await client.query("commit");
    client.release();
  } catch (error) {
    // A connection that cannot roll back is closed instead of used again.
    await client.query("rollback").then(
      () => client.release(),
      () => client.release(true),
    );
    throw error;
  }
}
