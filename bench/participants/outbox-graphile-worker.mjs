// graphile-worker with its batches on: jobs are fetched and completed by the hundred.
import pg from "pg";
import { Logger, makeWorkerUtils, run as runWorker } from "graphile-worker";
import { countdown, drainSide, numbers, sliceEntries } from "../drain.mjs";

const logger = new Logger(() => () => undefined);

export async function open({ url, quick, batch = 500, concurrency = 100 }) {
  const pgPool = new pg.Pool({ connectionString: url, max: 10 });
  const utils = await makeWorkerUtils({ pgPool, logger });
  await utils.migrate();
  const { reached, count } = countdown();
  return drainSide(sliceEntries(quick), {
    enqueue: (from, to) =>
      utils.addJobs(numbers(from, to, (n) => ({ identifier: "nothing", payload: { ref: `ref-${n}` } }))),
    async drain(entries) {
      const done = reached(entries);
      const runner = await runWorker({
        pgPool,
        noHandleSignals: true,
        taskList: { nothing: async () => count() },
        preset: {
          worker: {
            logger,
            concurrentJobs: concurrency,
            localQueue: { size: batch },
            completeJobBatchDelay: 0,
            failJobBatchDelay: 0,
          },
        },
      });
      await done;
      await runner.stop();
    },
    async left() {
      const { rows } = await pgPool.query("select count(*)::int as left from graphile_worker._private_jobs");
      return rows[0].left;
    },
    async close() {
      await utils.release();
      await pgPool.end();
    },
  });
}
