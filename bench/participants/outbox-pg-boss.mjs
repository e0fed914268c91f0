// pg-boss in batches: fetched and completed by the hundred, without the pauses of its polling worker.
import { PgBoss } from "pg-boss";
import { drainSide, numbers, sliceEntries } from "../drain.mjs";

const queue = "nothing";

export async function open({ url, quick, batch = 500, loops = 2 }) {
  const boss = new PgBoss({ connectionString: url, supervise: false, schedule: false });
  boss.on("error", (error) => {
    throw error;
  });
  await boss.start();
  await boss.createQueue(queue);
  const handle = async () => undefined;
  const loop = async () => {
    for (;;) {
      const jobs = await boss.fetch(queue, { batchSize: batch });
      if (jobs.length === 0) return;
      await Promise.all(jobs.map(handle));
      await boss.complete(
        queue,
        jobs.map(({ id }) => id),
      );
    }
  };
  return drainSide(sliceEntries(quick), {
    enqueue: (from, to) =>
      boss.insert(
        queue,
        numbers(from, to, (n) => ({ data: { ref: `ref-${n}` } })),
      ),
    drain: () => Promise.all(Array.from({ length: loops }, loop)),
    left: async () => (await boss.fetch(queue, { batchSize: 1 })).length,
    close: () => boss.stop({ graceful: false, close: true }),
  });
}
