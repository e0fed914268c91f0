// One saga at a time against the same number of bare commits on one connection of the same driver: in one process and in
// alternating blocks, so that both see the same disk at the same time.
import pg from "pg";
import { percentile } from "../statistics.mjs";
import { open as openAmends } from "./amends-postgres.mjs";
import { commitPerStep, createTables } from "./commit-per-step-postgres.mjs";

const blockMs = 120;

export async function open({ url, quick }) {
  const amends = await openAmends({ url, lanes: 1 });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await createTables(client);
  const saga = (n) => amends.one(0, n);
  const commits = (n) => commitPerStep(client, n);
  return {
    async slice() {
      const sagaMs = [];
      const commitsMs = [];
      for (let block = 0; block < (quick ? 4 : 8); block++) {
        sagaMs.push(...(await repeat(saga, blockMs)));
        commitsMs.push(...(await repeat(commits, blockMs)));
      }
      return {
        saga_ms_p50: percentile(sagaMs, 0.5),
        saga_ms_p99: percentile(sagaMs, 0.99),
        bare_commits_ms_p50: percentile(commitsMs, 0.5),
        bare_commits_ms_p99: percentile(commitsMs, 0.99),
      };
    },
    async close() {
      await client.end();
      await amends.close();
    },
  };
}

/** @returns {Promise<number[]>} how long each one took */
async function repeat(one, forMs) {
  const took = [];
  const until = performance.now() + forMs;
  for (let n = 0, begun = performance.now(); begun < until; n++) {
    await one(n);
    const ended = performance.now();
    took.push(ended - begun);
    begun = ended;
  }
  return took;
}
