// One trial: a participant in a process of its own. The parent only waits, so that both cores belong to the participant
// and to its database.
import { fork } from "node:child_process";

const childFile = new URL("./child.mjs", import.meta.url);

/**
 * @param {string} participant file name in participants/, without its ending
 * @param {"prepare" | "load" | "run"} mode
 * @param {object} options
 * @returns {Promise<Record<string, number>>}
 */
export function runInChild(participant, mode, options, timeoutMs = trialMs(options)) {
  return new Promise((resolve, reject) => {
    const child = fork(childFile, {
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      env: { ...process.env, NODE_NO_WARNINGS: "1" },
    });
    let said = "";
    let answer;
    const listen = (chunk) => (said = (said + chunk).slice(-4000));
    child.stdout.on("data", listen);
    child.stderr.on("data", listen);
    const tooLate = setTimeout(() => {
      answer = { error: `no answer within ${timeoutMs / 1000} s` };
      child.kill("SIGKILL");
    }, timeoutMs);
    child.once("message", (message) => (answer = message));
    child.once("error", reject);
    child.once("exit", (code, signal) => {
      clearTimeout(tooLate);
      if (answer?.figures) return resolve(answer.figures);
      reject(
        new Error(
          `${participant} (${mode}): ${answer?.error ?? `ended with ${signal ?? code}`}\n${said}`.trimEnd(),
        ),
      );
    });
    child.send({ participant, mode, options });
  });
}

/** A trial that hangs must not take the whole run with it. */
function trialMs({ warmMs = 0, measureMs = 0 }) {
  return warmMs + measureMs + 30_000;
}

/**
 * Sagas in flight on a fresh PostgreSQL database, with commits and WAL per saga.
 * @param {import("./context.mjs").Context} context
 */
export async function loadOnPostgres(context, participant, options) {
  const database = await context.postgres.newDatabase(participant);
  try {
    const all = { url: database.url, monitorUrl: context.postgres.url, ...context.window, ...options };
    await runInChild(participant, "prepare", all);
    await context.postgres.checkpoint();
    const before = await context.postgres.counters(database.name);
    const figures = await runInChild(participant, "load", all);
    const after = await context.postgres.counters(database.name);
    return {
      ...figures,
      commits_per_saga: (after.commits - before.commits) / figures.sagas_total,
      durable_commits_per_saga: (after.writes - before.writes) / figures.sagas_total,
      // From right after a checkpoint, warm-up included: the first touch of each page writes it in full.
      wal_bytes_per_saga_after_checkpoint: (after.wal_bytes - before.wal_bytes) / figures.sagas_total,
    };
  } finally {
    await database.drop();
  }
}

/** Sagas in flight on a fresh SQLite file. */
export async function loadOnSqlite(context, participant, options) {
  const file = context.newFile(participant);
  try {
    return await runInChild(participant, "load", {
      file: file.path,
      ...context.window,
      ...options,
    });
  } finally {
    file.remove();
  }
}

/**
 * The same trial at several concurrencies; each figure's name says which.
 * @param {number[]} concurrencies
 * @param {(concurrency: number) => Promise<Record<string, number>>} trial
 */
export async function atEach(context, concurrencies, trial) {
  const figures = {};
  for (const concurrency of concurrencies) {
    context.progress(`${concurrency} at once`);
    for (const [name, value] of Object.entries(await trial(concurrency)))
      figures[`at_${concurrency}.${name}`] = value;
  }
  return figures;
}

/**
 * Entries enqueued and drained on a fresh PostgreSQL database.
 * @param {import("./context.mjs").Context} context
 */
export async function drainOnPostgres(context, participant, entries = context.quick ? 20_000 : 100_000) {
  const database = await context.postgres.newDatabase(participant);
  try {
    await context.postgres.checkpoint();
    return await runInChild(participant, "run", { url: database.url, entries, batch: 500 }, 180_000);
  } finally {
    await database.drop();
  }
}
