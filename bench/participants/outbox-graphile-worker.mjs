// graphile-worker with its batches on: jobs are fetched and completed by the hundred.
import pg from "pg";
import { Logger, makeWorkerUtils, run as runWorker } from "graphile-worker";
import { countdown, measureDrain, numbers } from "../drain.mjs";

const logger = new Logger(() => () => undefined);

export async function run({ url, entries, batch, concurrency = 100 }) {
  const pgPool = new pg.Pool({ connectionString: url, max: 10 });
  const utils = await makeWorkerUtils({ pgPool, logger });
  await utils.migrate();
  const { done, count } = countdown(entries);
  const figures = await measureDrain(entries, {
    enqueue: (from, to) =>
      utils.addJobs(numbers(from, to, (n) => ({ identifier: "nothing", payload: { ref: `ref-${n}` } }))),
    async drain() {
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
  });
  const { rows } = await pgPool.query("select count(*)::int as left from graphile_worker._private_jobs");
  if (rows[0].left !== 0) throw new Error(`${rows[0].left} jobs are left.`);
  await utils.release();
  await pgPool.end();
  return figures;
}
