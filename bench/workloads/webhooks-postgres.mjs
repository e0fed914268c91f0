import { fork } from "node:child_process";
import { runInChild } from "../trial.mjs";

export const name = "webhooks-postgres";

const participant = "webhooks-postgres";
const patienceMs = 90_000;

export async function run(context) {
  const receiver = await startReceiver();
  try {
    const port = receiver.port;
    const events = context.quick ? 200 : 600;
    const requests = context.quick ? 20_000 : 60_000;
    const asBare = (more) =>
      runInChild(participant, "run", { what: "bare", port, requests, ...more }, patienceMs);
    context.progress("bare client");
    const bare = await asBare({});
    const unsigned = await asBare({ signed: false });
    context.progress("deliveries");
    const all = await trial(context, { what: "deliver", port, events });
    context.progress("one endpoint of a hundred is dead");
    const beside = await trial(context, { what: "deliver", port, events, dead: true });
    context.progress("one at a time");
    const lone = await trial(context, {
      what: "deliver",
      port,
      events: context.quick ? 5 : 20,
      concurrency: 1,
    });
    return {
      bare_requests_per_s: bare.requests_per_s,
      bare_cpu_us_per_request: bare.cpu_us_per_request,
      unsigned_requests_per_s: unsigned.requests_per_s,
      deliveries_per_s: all.deliveries_per_s,
      commits_per_delivery: all.commits_per_delivery,
      wal_bytes_per_delivery: all.wal_bytes_per_delivery,
      cpu_us_per_delivery: all.cpu_us_per_delivery,
      beside_dead_per_s: beside.deliveries_per_s,
      lone_deliveries_per_s: lone.deliveries_per_s,
      lone_commits_per_delivery: lone.commits_per_delivery,
    };
  } finally {
    receiver.stop();
  }
}

/** Published by one process and delivered by another, whose commits alone are counted. */
async function trial(context, options) {
  const database = await context.postgres.newDatabase(participant);
  try {
    const all = { url: database.url, ...options };
    await runInChild(participant, "prepare", all, patienceMs);
    await context.postgres.checkpoint();
    const before = await context.postgres.counters(database.name);
    const figures = await runInChild(participant, "run", all, patienceMs);
    const after = await context.postgres.counters(database.name);
    return {
      ...figures,
      commits_per_delivery: (after.commits - before.commits) / figures.deliveries,
      wal_bytes_per_delivery: (after.wal_bytes - before.wal_bytes) / figures.deliveries,
    };
  } finally {
    await database.drop();
  }
}

function startReceiver() {
  const child = fork(new URL("../receiver.mjs", import.meta.url), {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  return new Promise((resolve) =>
    child.once("message", ({ port }) => resolve({ port, stop: () => child.kill() })),
  );
}
