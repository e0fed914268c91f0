import { Amends } from "../../dist/index.js";
import { postgres } from "../../dist/postgres.js";
import { Begun, chain } from "./trivial-events.mjs";

/** One chain: published, handled by five handlers, and durably completed. */
export async function open({ url, lanes }) {
  const amends = new Amends({ database: postgres({ url, notify: false }), events: [chain] });
  await amends.migrate();
  // A chain goes on in its own place; what is published while a claim is under way needs one more.
  const worker = amends.worker({ concurrency: lanes + 10 });
  await worker.start();
  return {
    async one(_lane, n) {
      const [run] = await amends.events.publish(Begun({ key: `k${n}` }));
      const status = await run.ended();
      if (status !== "completed") throw new Error(`A chain ended as ${status}.`);
    },
    async close() {
      await worker.stop();
      await amends.close();
    },
  };
}
