import { once } from "node:events";
import express, { type NextFunction, type Request, type Response } from "express";
import { amends, createOrder, findOrder, migrate, newOrder, pool } from "./shop.ts";

await migrate();
const worker = amends.worker();
await worker.start();

const app = express();
app.use(express.json());

app.post("/orders", async (request, response) => {
  const order = newOrder.safeParse(request.body);
  if (!order.success) return void response.status(400).json({ error: order.error.issues });
  response.status(202).json({ id: await createOrder(order.data) });
});

app.get("/orders/:id", async (request, response) => {
  const order = await findOrder(request.params.id);
  if (order) response.json(order);
  else response.status(404).json({ error: "There is no such order." });
});

app.get("/health", async (_request, response) => {
  const { ready } = await worker.ready();
  response.status(ready ? 200 : 503).json({ ready });
});

// Express 5 also brings rejected promises of routes here; a body that is not JSON has the status 400.
app.use((error: Error & { status?: number }, _request: Request, response: Response, next: NextFunction) => {
  if (response.headersSent) return next(error);
  const { status = 500 } = error;
  if (status >= 500) console.error(error);
  response.status(status).json({ error: status >= 500 ? "Internal error." : error.message });
});

const server = app.listen(Number(process.env.PORT ?? 3000), (error) => {
  if (error) throw error;
});

async function stop(): Promise<void> {
  server.close(); // open requests have five seconds to finish; clients may keep connections open for longer
  setTimeout(() => server.closeAllConnections(), 5_000).unref();
  // Calls under way finish, other work is left to the next worker.
  await Promise.all([once(server, "close"), worker.stop()]);
  await amends.close();
  await pool.end();
}
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void stop());
