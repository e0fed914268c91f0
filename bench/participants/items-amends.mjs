// One saga with a list of a thousand items: each item is acted on once, and is durable before its result counts.
import { Amends, saga } from "../../dist/index.js";
import { postgres } from "../../dist/postgres.js";
import { itemsSide } from "../items.mjs";
import { numbered } from "./trivial-sagas.mjs";

const many = saga("many", numbered).each("items", {
  over: ({ input }) => Array.from({ length: input.n }, (_, index) => `item-${index}`),
  key: (item) => item,
  act: () => ({ n: 1 }),
  concurrency: 100,
});

export async function open({ url, items }) {
  const amends = new Amends({ database: postgres({ url }), sagas: [many] });
  await amends.migrate();
  const worker = amends.worker();
  await worker.start();
  return itemsSide(items, {
    async one() {
      const outcome = await (await amends.start(many, { n: items })).result();
      if (outcome.status !== "COMPLETED") throw new Error(`The saga ended as ${outcome.status}.`);
    },
    async close() {
      await worker.stop();
      await amends.close();
    },
  });
}
