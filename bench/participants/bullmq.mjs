// BullMQ on a Redis that syncs every write: a job of five steps that stores how far it has come after each, as its
// documentation shows for jobs with steps. The Redis of the PATH is started here.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { fetched } from "../../tools/fetched.mjs";

const steps = 5;

/** Only where there is a Redis: so it is fetched at its first use. */
const [{ Queue, QueueEvents, Worker }, { default: Redis }] = await Promise.all([
  load("bullmq", "6.7.0", "dist/esm/index.js"),
  load("ioredis", "5.11.1", "built/index.js"),
]);

async function load(name, version, file) {
  return import(pathToFileURL(path.join(await fetched(name, version), file)).href);
}

export async function open({ lanes }) {
  const folder = mkdtempSync(path.join(tmpdir(), "amends-bench-redis-"));
  const socket = path.join(folder, "redis.sock");
  const settings = ["--port", "0", "--unixsocket", socket, "--dir", folder, "--appendonly", "yes"];
  const server = spawn("redis-server", [...settings, "--appendfsync", "always", "--save", ""], {
    stdio: "ignore",
  });
  process.once("exit", () => server.kill("SIGKILL"));
  const connect = () => ({ connection: new Redis({ path: socket, maxRetriesPerRequest: null }) });
  const queue = new Queue("five", connect());
  const events = new QueueEvents("five", connect());
  const waiting = new Map();
  events.on("completed", ({ jobId }) => {
    waiting.get(jobId)?.();
    waiting.delete(jobId);
  });
  const worker = new Worker(
    "five",
    async (job) => {
      for (let step = job.data.step; step < steps; step++)
        await job.updateData({ ...job.data, step: step + 1, n: 1 });
      return { n: 1 };
    },
    { ...connect(), concurrency: lanes },
  );
  await Promise.all([queue.waitUntilReady(), events.waitUntilReady(), worker.waitUntilReady()]);
  return {
    async one(_lane, n) {
      const jobId = `job-${n}`;
      const ended = new Promise((resolve) => waiting.set(jobId, resolve));
      await queue.add("five", { step: 0, n }, { jobId });
      await ended;
    },
    async close() {
      await worker.close(true);
      await events.close();
      await queue.close();
      server.kill("SIGKILL");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
