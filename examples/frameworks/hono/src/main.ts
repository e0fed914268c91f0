import { once } from "node:events";
import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import { amends, createOrder, findOrder, migrate, newOrder, pool } from "./shop.ts";

await migrate();
const worker = amends.worker();
await worker.start();

const app = new Hono();

app.post("/orders", async (c) => {
  const order = newOrder.safeParse(await c.req.json().catch(() => undefined));
  if (!order.success) return c.json({ error: order.error.issues }, 400);
  return c.json({ id: await createOrder(order.data) }, 202);
});

app.get("/orders/:id", async (c) => {
  const order = await findOrder(c.req.param("id"));
  return order ? c.json(order) : c.json({ error: "There is no such order." }, 404);
});

app.get("/health", async (c) => {
  const { ready } = await worker.ready();
  return c.json({ ready }, ready ? 200 : 503);
});

app.onError((error, c) => {
  console.error(error);
  return c.json({ error: "Internal error." }, 500);
});

const server = createServer(getRequestListener(app.fetch)).listen(Number(process.env.PORT ?? 3000));

async function stop(): Promise<void> {
  server.close(); // open requests have five seconds to finish; clients may keep connections open for longer
  setTimeout(() => server.closeAllConnections(), 5_000).unref();
  // Calls under way finish, other work is left to the next worker.
  await Promise.all([once(server, "close"), worker.stop()]);
  await amends.close();
  await pool.end();
}
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void stop());
