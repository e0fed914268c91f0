// One side of a comparison: a participant in a process of its own, opened once and asked for one slice of its work after the
// other. Between two slices it does nothing, so that both cores belong to the side whose turn it is, and to its database.
import { fork } from "node:child_process";
import path from "node:path";
import { fetched } from "../tools/fetched.mjs";

/**
 * @typedef {Record<string, number>} Figures
 *
 * @typedef {object} SideOptions
 * @property {string} participant     file name in participants/, without its ending
 * @property {"postgres" | "sqlite"} [on]   gets a fresh database: `url`, or `file`
 * @property {string[]} [databases]   gets a fresh PostgreSQL database for each name instead: `emptyUrl` for `empty`
 * @property {string} [node]          the version of Node.js that the participant wants; otherwise this one
 * @property {() => string | undefined} [missing]   what has to be installed for it, if it is not
 *
 * @typedef {SideOptions & Record<string, unknown>} Side   the rest goes to the participant
 *
 * @typedef {object} OpenSide
 * @property {() => Promise<Figures>} slice
 * @property {() => Promise<Figures>} close   figures that only a whole run has
 */

const childFile = new URL("./child.mjs", import.meta.url);
const openMs = 120_000;
const sliceMs = 180_000;

/**
 * @param {import("./context.mjs").Context} context
 * @param {Side} side
 * @returns {Promise<OpenSide>}
 */
export async function openSide(context, { participant, on, databases, node, ...options }) {
  const place = await placeOf(context, { on, databases }, participant);
  const child = await startChild(participant, node);
  try {
    const given = { quick: context.quick, ...place.given, ...context.window, ...options };
    await child.ask({ open: participant, options: given }, openMs);
    await context.postgres.checkpoint();
    const counted = on === "postgres" ? await countedOnPostgres(context, place.name) : undefined;
    return {
      slice: async () => {
        const before = { cpuUs: context.postgres.cpuUs(), writes: await context.postgres.writes() };
        const figures = await child.ask({ slice: true }, sliceMs);
        const done = figures.sagas_total ?? 0;
        if (!counted || done === 0) return figures;
        counted.done += done;
        return {
          ...figures,
          database_cpu_us_per_saga: (context.postgres.cpuUs() - before.cpuUs) / done,
          durable_commits_per_saga: ((await context.postgres.writes()) - before.writes) / done,
        };
      },
      close: async () => {
        await child.close();
        const figures = counted ? await counted.read() : {};
        await place.drop();
        return figures;
      },
    };
  } catch (error) {
    child.kill();
    await place.drop();
    throw error;
  }
}

async function placeOf(context, { on, databases }, label) {
  if (databases) {
    const opened = await Promise.all(
      databases.map((name) => context.postgres.newDatabase(`${label}_${name}`)),
    );
    const given = Object.fromEntries(opened.map(({ url }, index) => [`${databases[index]}Url`, url]));
    return { name: "", given, drop: () => Promise.all(opened.map(({ drop }) => drop())) };
  }
  if (on === "postgres") {
    const database = await context.postgres.newDatabase(label);
    const given = { url: database.url, monitorUrl: context.postgres.url };
    return { name: database.name, given, drop: database.drop };
  }
  if (on === "sqlite") {
    const file = context.newFile(label);
    return { name: file.path, given: { file: file.path }, drop: async () => file.remove() };
  }
  return { name: "", given: {}, drop: async () => undefined };
}

/** Commits of all slices together. */
async function countedOnPostgres({ postgres }, database) {
  const before = await postgres.commits(database);
  const counted = {
    done: 0,
    async read() {
      if (counted.done === 0) return {};
      return { commits_per_saga: ((await postgres.commits(database)) - before) / counted.done };
    },
  };
  return counted;
}

/** @param {string} participant @param {string | undefined} version of Node.js */
async function startChild(participant, version) {
  const child = fork(childFile, {
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    env: { ...process.env, NODE_NO_WARNINGS: "1" },
    execPath: version === undefined ? process.execPath : await nodeProgram(version),
  });
  let said = "";
  const listen = (chunk) => (said = (said + chunk).slice(-4000));
  child.stdout.on("data", listen);
  child.stderr.on("data", listen);
  const exited = new Promise((resolve) => child.once("exit", (code, signal) => resolve(signal ?? code)));
  const failure = (what) => new Error(`${participant}: ${what}\n${said}`.trimEnd());
  return {
    kill: () => child.kill("SIGKILL"),
    /** Sends one message and waits for its answer. */
    async ask(message, timeoutMs) {
      const answered = new Promise((resolve) => child.once("message", resolve));
      child.send(message);
      const late = timeout(timeoutMs);
      const ended = exited.then((how) => ({ error: `ended with ${how}` }));
      const answer = await Promise.race([answered, ended, late.over]);
      late.cancel();
      if (answer === undefined) {
        child.kill("SIGKILL");
        throw failure(`no answer within ${timeoutMs / 1000} s`);
      }
      if (answer.error !== undefined) throw failure(answer.error);
      return answer.figures;
    },
    async close() {
      await this.ask({ close: true }, openMs);
      await exited;
    },
  };
}

function timeout(ms) {
  let timer;
  const over = new Promise((resolve) => (timer = setTimeout(resolve, ms)));
  return { over, cancel: () => clearTimeout(timer) };
}

/** Peers run on the version of Node.js that they want, from npm. */
async function nodeProgram(version) {
  return path.join(await fetched(`node-${process.platform}-${process.arch}`, version), "bin", "node");
}
