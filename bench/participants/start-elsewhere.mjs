// A program that starts sagas and has no worker, and a worker in a process of its own: how long a saga takes to its first act, beside two
// bare commits, in alternating blocks.
import { fork } from "node:child_process";
import pg from "pg";
import { Amends } from "../../dist/index.js";
import { postgres } from "../../dist/postgres.js";
import { percentile } from "../statistics.mjs";
import { commitPerStep, createTables } from "./commit-per-step-postgres.mjs";
import { sagaThatTells } from "./telling-saga.mjs";

const blockStarts = 25;

export async function open({ url, quick }) {
  const telling = sagaThatTells(() => undefined);
  const amends = new Amends({ database: postgres({ url }), sagas: [telling] });
  await amends.migrate();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await createTables(client);
  const worker = fork(new URL("./telling-worker.mjs", import.meta.url), [url]);
  const [told, next] = inbox(worker);
  await told("working");
  let n = 0;
  return {
    async slice() {
      const [firstActMs, commitsMs] = [[], []];
      for (let block = 0; block < (quick ? 2 : 4); block++) {
        for (let start = 0; start < blockStarts; start++) {
          const acted = next();
          const begun = performance.timeOrigin + performance.now();
          await amends.start(telling, { n: n++ });
          firstActMs.push((await acted) - begun);
        }
        for (let pair = 0; pair < blockStarts; pair++) {
          const begun = performance.now();
          // Six commits: its work is that of a saga of five steps.
          await commitPerStep(client, pair);
          commitsMs.push(((performance.now() - begun) * 2) / 6);
        }
      }
      return {
        first_act_ms_p50: percentile(firstActMs, 0.5),
        first_act_ms_p99: percentile(firstActMs, 0.99),
        two_commits_ms_p50: percentile(commitsMs, 0.5),
      };
    },
    async close() {
      worker.send("stop");
      await new Promise((resolve) => worker.once("exit", resolve));
      await client.end();
      await amends.close();
    },
  };
}

/** Waits for a certain message, and for the instant of the next act. */
function inbox(worker) {
  const message = (matches) =>
    new Promise((resolve) => {
      const listen = (value) => {
        if (!matches(value)) return;
        worker.off("message", listen);
        resolve(value);
      };
      worker.on("message", listen);
    });
  return [(text) => message((value) => value === text), () => message((value) => typeof value === "number")];
}
