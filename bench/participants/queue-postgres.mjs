// A saga that is started alone, from its start to its end: on an empty queue, and beside a long queue of other sagas that wait for
// the same worker. Both databases belong to one process, and a worker runs on one of them at a time.
import pg from "pg";
import { Amends, saga } from "../../dist/index.js";
import { postgres } from "../../dist/postgres.js";
import { percentile } from "../statistics.mjs";

const startedAtOnce = 1_000;
const warmMs = 400;
const measureMs = 2_000;
/** Of each queued saga: it is a call to something outside, so that the queue takes slots and little processor time. */
const actMs = 200;
const sideBySide = 50;

const numbered = {
  "~standard": { version: 1, vendor: "amends-bench", validate: (value) => ({ value }) },
};

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const slow = () => pause(actMs);
const quick = () => ({ n: 1 });

/** What is queued, and what is started alone: `start` gets the name of the key, `busy` or `lone`. */
const kinds = {
  /** Two sagas without limits. */
  sagas() {
    const busy = saga("busy", numbered).step("a", { act: slow });
    const lone = saga("lone", numbered).step("a", { act: quick });
    return { sagas: [busy, lone], queued: [busy, {}], lone: [lone, {}] };
  },
  /** Two keys of one saga. */
  keys() {
    const keyed = saga("keyed", numbered, {
      concurrency: { key: ({ key }) => key, limit: sideBySide },
    }).step("a", { act: ({ input }) => (input.key === "busy" ? slow() : quick()) });
    return { sagas: [keyed], queued: [keyed, { key: "busy" }], lone: [keyed, { key: "lone" }] };
  },
};

export async function open({ emptyUrl, filledUrl, kind, queued }) {
  const [empty, filled] = await Promise.all([shopOn(emptyUrl, kind), shopOn(filledUrl, kind)]);
  return {
    async slice() {
      const alone = await empty.measure();
      await filled.fillUp(queued);
      const beside = await filled.measure();
      return {
        empty_ms_p50: percentile(alone, 0.5),
        empty_ms_p99: percentile(alone, 0.99),
        queued_ms_p50: percentile(beside, 0.5),
        queued_ms_p99: percentile(beside, 0.99),
        lone_sagas: beside.length,
      };
    },
    async close() {
      await empty.close();
      await filled.close();
    },
  };
}

async function shopOn(url, kind) {
  const { sagas, queued, lone } = kinds[kind]();
  const amends = new Amends({ database: postgres({ url }), sagas });
  await amends.migrate();
  const [queuedSaga, input] = queued;
  return {
    async fillUp(count) {
      for (let missing = count - (await countOpen(url)); missing > 0; missing -= startedAtOnce) {
        const items = Array.from({ length: Math.min(startedAtOnce, missing) }, () => ({ input }));
        await amends.startMany(queuedSaga, items);
      }
    },
    async measure() {
      const worker = amends.worker();
      await worker.start();
      await pause(warmMs);
      const took = [];
      const until = performance.now() + measureMs;
      while (performance.now() < until) {
        const begun = performance.now();
        const outcome = await (await amends.start(lone[0], lone[1])).result();
        if (outcome.status !== "COMPLETED") throw new Error(`A saga ended as ${outcome.status}.`);
        took.push(performance.now() - begun);
      }
      await worker.stop();
      return took;
    },
    close: () => amends.close(),
  };
}

async function countOpen(url) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query(
    "select count(*) as open from amends.saga_executions where status in ('PENDING', 'RUNNING')",
  );
  await client.end();
  return Number(rows[0].open);
}
