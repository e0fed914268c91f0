// What both amends participants share: started and run in one process, as a backend with a worker in it does.
import { Amends } from "../../dist/index.js";
import { five } from "./trivial-sagas.mjs";

export async function openAmends(database, concurrency) {
  const amends = new Amends({ database, sagas: [five] });
  await amends.migrate();
  const worker = amends.worker({ concurrency });
  await worker.start();
  return {
    async one(_lane, n) {
      const run = await amends.start(five, { n });
      const outcome = await run.result();
      if (outcome.status !== "COMPLETED") throw new Error(`A saga ended as ${outcome.status}.`);
    },
    async close() {
      await worker.stop();
      await amends.close();
    },
  };
}
