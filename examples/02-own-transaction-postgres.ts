/**
 * In the caller's own transaction, through the caller's own client: the order and its saga exist together or not at
 * all. Needs a PostgreSQL: DATABASE_URL=postgres://… node 02-own-transaction-postgres.js
 */
import { Amends, saga } from "amends";
import { postgres } from "amends/postgres";
import pg from "pg";
import { z } from "zod";

const fulfil = saga("fulfil", z.object({ orderId: z.string() })).step("pack", {
  act: ({ input }) => `box for ${input.orderId}`,
});

const pool = new pg.Pool({ connectionString: process.env["DATABASE_URL"] });
await pool.query("create table if not exists orders (id text primary key)");

const amends = new Amends({ database: postgres({ pool }), sagas: [fulfil] });
await amends.migrate();
await amends.worker({ poll: "100ms" }).start();

async function placeOrder(orderId: string, change: "commit" | "rollback"): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("begin");
    await client.query("insert into orders (id) values ($1)", [orderId]);
    await amends.start(fulfil, { orderId }, { id: orderId, tx: client });
    await client.query(change);
  } finally {
    client.release();
  }
}

await placeOrder("o-1", "commit");
await placeOrder("o-2", "rollback");

const run = await amends.get("o-1");
console.log("o-1", (await run.result()).status);
console.log("o-2", (await amends.inspect("o-2"))?.status ?? "does not exist");

await amends.close(); // leaves the pool alone: it is yours
await pool.end();
