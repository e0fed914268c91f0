// pg-boss in batches: fetched and completed by the hundred, without the pauses of its polling worker.
import PgBoss from "pg-boss";
import { measureDrain, numbers } from "../drain.mjs";

const queue = "nothing";

export async function run({ url, entries, batch, loops = 2 }) {
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
  const figures = await measureDrain(entries, {
    enqueue: (from, to) =>
      boss.insert(numbers(from, to, (n) => ({ name: queue, data: { ref: `ref-${n}` } }))),
    drain: () => Promise.all(Array.from({ length: loops }, loop)),
  });
  const left = await boss.getQueueSize(queue, { before: "completed" });
  if (left !== 0) throw new Error(`${left} jobs are left.`);
  await boss.stop({ graceful: false, close: true });
  return figures;
}
