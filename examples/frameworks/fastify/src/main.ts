import Fastify from "fastify";
import { amends, createOrder, findOrder, migrate, newOrder, pool } from "./shop.ts";

const app = Fastify({ logger: true });
const worker = amends.worker();

app.addHook("onReady", async () => {
  await migrate();
  await worker.start();
});

// After open requests have finished: calls under way finish, other work is left to the next worker.
app.addHook("onClose", async () => {
  await amends.close();
  await pool.end();
});

app.post("/orders", async (request, reply) => {
  const order = newOrder.safeParse(request.body);
  if (!order.success) return reply.code(400).send({ error: order.error.issues });
  return reply.code(202).send({ id: await createOrder(order.data) });
});

app.get<{ Params: { id: string } }>("/orders/:id", async (request, reply) => {
  const order = await findOrder(request.params.id);
  return order ?? reply.code(404).send({ error: "There is no such order." });
});

app.get("/health", async (_request, reply) => {
  const { ready } = await worker.ready();
  return reply.code(ready ? 200 : 503).send({ ready });
});

await app.listen({ port: Number(process.env.PORT ?? 3000), host: "0.0.0.0" });
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void app.close());
