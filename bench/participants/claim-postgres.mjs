// What it costs to claim and run waiting sagas when the tables are empty, and when a million finished ones are in them: two
// databases, in turns. The sagas have one trivial step, so that the claim weighs as much as it can.
import pg from "pg";
import { Amends } from "../../dist/index.js";
import { postgres } from "../../dist/postgres.js";
import { copyFinished } from "../finished-sagas.mjs";
import { single } from "./trivial-sagas.mjs";

const pending = 1_000;

export async function open({ emptyUrl, filledUrl, finished }) {
  const empty = await openOne(emptyUrl);
  const filled = await openOne(filledUrl);
  await fill(filled, filledUrl, finished);
  return {
    slice: async () => ({
      empty_us_per_saga: await empty.drain(),
      beside_finished_us_per_saga: await filled.drain(),
    }),
    async close() {
      await empty.close();
      await filled.close();
    },
  };
}

/** Starts go through an instance without a worker, so that they wait in the table for the claim of the other one. */
async function openOne(url) {
  const starter = new Amends({ database: postgres({ url }), sagas: [single] });
  await starter.migrate();
  const runner = new Amends({ database: postgres({ url }), sagas: [single] });
  const worker = runner.worker({ concurrency: 500 });
  return {
    /** @returns {Promise<number>} microseconds per saga, claimed and run */
    async drain() {
      const runs = await Promise.all(Array.from({ length: pending }, (_, n) => starter.start(single, { n })));
      const begun = performance.now();
      while ((await worker.runOnce()) > 0);
      const took = performance.now() - begun;
      const outcome = await runs.at(-1).result();
      if (outcome.status !== "COMPLETED") throw new Error(`A saga ended as ${outcome.status}.`);
      return (took * 1000) / pending;
    },
    async finishOne() {
      const one = await starter.start(single, { n: 1 });
      while ((await worker.runOnce()) > 0);
      return one.id;
    },
    async close() {
      await worker.stop();
      await runner.close();
      await starter.close();
    },
  };
}

async function fill(instance, url, finished) {
  const connect = async () => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    return client;
  };
  await copyFinished(connect, await instance.finishOne(), finished);
}
