/**
 * A real PostgreSQL for tests and benchmarks, thrown away afterwards. It is durable as in production (fsync and
 * synchronous_commit are on), because both the crash tests and the benchmark would mean nothing otherwise.
 *
 *   node tools/postgres-server.mjs        starts one, prints its URL, and ends it at Ctrl-C
 */
import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chownSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  closeSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { findBinaries, serverIdentity } from "./postgres-binaries.mjs";

/** @import { Readable, Writable } from "node:stream" */

/**
 * @typedef {object} PostgresServer
 * @property {string} url
 * @property {string | undefined} dataDir undefined when DATABASE_URL named the server
 * @property {string | undefined} binDir
 * @property {string | undefined} version
 * @property {number | undefined} pid of the postmaster; changes with each restart
 * @property {() => Promise<void>} stop
 * @property {(mode?: "immediate" | "fast") => Promise<void>} restart same port and data; "immediate" is a crash
 */

/**
 * @typedef {object} PostgresOptions
 * @property {Record<string, string | number | boolean>} [settings] on top of the defaults below
 * @property {number} [version] a major version; the newest that is found otherwise
 * @property {string} [home] the folder with bin, lib and share of the server to run; otherwise it is looked for
 * @property {boolean} [own] true: a server of one's own even when DATABASE_URL is set, to restart or to configure
 * @property {string} [parentDir] where its folder is made; the system's temporary folder otherwise
 * @property {Cluster} [copyOf] begins with a copy of this cluster, whose passwords it keeps
 * @property {string} [copyTo] leaves a copy of the cluster there as it was before the first start, for `copyOf`
 */

/** @typedef {{ readonly dataDir: string, readonly url: string }} Cluster the URL holds the password */

const START_TIMEOUT_MS = 60_000;

/**
 * @param {PostgresOptions} [options]
 * @returns {Promise<PostgresServer>}
 */
export async function startPostgres(options = {}) {
  const given = process.env["DATABASE_URL"];
  if (given !== undefined && given !== "" && options.own !== true) return foreignServer(given);

  const identity = serverIdentity();
  const { binDir, version } = findBinaries(options.version, identity, options.home);
  const folder = mkdtempSync(path.join(options.parentDir ?? tmpdir(), "amends-postgres-"));
  const dataDir = path.join(folder, "data");
  const { copyOf } = options;
  const password = copyOf ? new URL(copyOf.url).password : randomBytes(18).toString("hex");
  try {
    if (!copyOf) mkdirSync(dataDir, { mode: 0o700 });
    else copyCluster(copyOf.dataDir, dataDir);
    if (identity !== undefined) {
      for (const place of [folder, dataDir]) chownSync(place, identity.uid, identity.gid);
    }
    if (!copyOf) initialise({ binDir, version }, folder, dataDir, password, identity);
    if (options.copyTo !== undefined) copyCluster(dataDir, options.copyTo);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }

  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    const command = path.join(binDir, "postgres");
    const args = ["-D", dataDir, ...settingsOf(options, folder, port)];
    const keeper = watch({ command, args, folder, ...identity });
    try {
      await keeper.ready();
      return {
        url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
        dataDir,
        binDir,
        version,
        get pid() {
          return keeper.pid();
        },
        stop: keeper.stop,
        restart: keeper.restart,
      };
    } catch (error) {
      // Another process may have taken the port between the look and the start.
      const taken = String(error).includes("Address already in use") && attempt < 5;
      if (!taken) {
        await keeper.stop();
        throw error;
      }
      await keeper.abandon();
    }
  }
}

/**
 * Makes a database, as a copy of the template if one is given, and returns its URL.
 * @param {string} url of any database on the server
 * @param {string} name
 * @param {string} [template] nobody may be connected to it meanwhile
 * @returns {Promise<string>}
 */
export async function createDatabase(url, name, template) {
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const from = template === undefined ? "" : ` template ${pg.escapeIdentifier(template)}`;
    await client.query(`create database ${pg.escapeIdentifier(name)}${from}`);
  } finally {
    await client.end();
  }
  const made = new URL(url);
  made.pathname = `/${encodeURIComponent(name)}`;
  return made.href;
}

/**
 * @param {string} url
 * @returns {PostgresServer}
 */
function foreignServer(url) {
  return {
    url,
    dataDir: undefined,
    binDir: undefined,
    version: undefined,
    pid: undefined,
    stop: async () => {},
    restart: async () => {
      throw new Error(
        "The server that DATABASE_URL names is not ours to restart; ask for one with own: true.",
      );
    },
  };
}

/**
 * With owners and rights, which the server insists on.
 * @param {string} from
 * @param {string} to
 */
export function copyCluster(from, to) {
  const run = spawnSync("cp", ["-a", from, to], { encoding: "utf8" });
  if (run.status !== 0) throw new Error(`The cluster could not be copied: ${run.stderr}`);
}

/**
 * A random password is as safe with one iteration as with 4096, which each connection would have to compute.
 * @param {string} version
 */
function passwordSettings(version) {
  return Number.parseInt(version, 10) >= 16 ? ["-c", "scram_iterations=1"] : [];
}

/**
 * @param {{ binDir: string, version: string }} server
 * @param {string} folder
 * @param {string} dataDir
 * @param {string} password
 * @param {import("./postgres-binaries.mjs").Identity | undefined} identity
 */
function initialise({ binDir, version }, folder, dataDir, password, identity) {
  const passwordFile = path.join(folder, "password");
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (identity !== undefined) chownSync(passwordFile, identity.uid, identity.gid);
  const run = spawnSync(
    path.join(binDir, "initdb"),
    // The empty cluster need not be synced: nothing of value is in it yet.
    [
      "-D",
      dataDir,
      "-U",
      "postgres",
      // The password is random and stays on this machine: the client, too, has nothing to compute for each connection.
      "-A",
      "password",
      "--pwfile",
      passwordFile,
      "-E",
      "UTF8",
      "--locale=C",
      "--no-sync",
      ...passwordSettings(version),
    ],
    {
      encoding: "utf8",
      cwd: folder,
      env: { PATH: process.env["PATH"] ?? "", LC_ALL: "C", TZ: "UTC" },
      ...identity,
    },
  );
  rmSync(passwordFile);
  if (run.status !== 0) throw new Error(`initdb failed: ${run.error?.message ?? run.stderr}`);
}

/**
 * @param {PostgresOptions} options
 * @param {string} folder
 * @param {number} port
 */
function settingsOf(options, folder, port) {
  const settings = {
    fsync: "on",
    synchronous_commit: "on",
    full_page_writes: "on",
    max_connections: 200,
    timezone: "UTC",
    log_timezone: "UTC",
    ...options.settings,
    port,
    listen_addresses: "127.0.0.1",
    unix_socket_directories: process.platform === "win32" ? "" : folder,
  };
  return Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${String(value)}`]);
}

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

/**
 * @param {{ command: string, args: string[], folder: string, uid?: number, gid?: number }} plan
 */
function watch(plan) {
  const logFile = path.join(plan.folder, "log");
  const log = openSync(logFile, "a");
  const script = path.join(path.dirname(fileURLToPath(import.meta.url)), "postgres-watchdog.mjs");
  const keeper = /** @type {import("node:child_process").ChildProcessByStdio<Writable, Readable, null>} */ (
    spawn(process.execPath, [script, JSON.stringify(plan)], {
      stdio: ["pipe", "pipe", log],
      detached: true,
      env: { PATH: process.env["PATH"] ?? "" },
    })
  );
  closeSync(log);
  // Whoever forgets stop() still ends: the pipe closes with the process, and the watchdog does the rest.
  keeper.unref();
  keeper.stdin.on("error", () => {});
  for (const stream of [keeper.stdin, keeper.stdout]) {
    /** @type {import("node:net").Socket} */ (/** @type {unknown} */ (stream)).unref();
  }

  /** @type {number | undefined} */
  let pid;
  /** @type {string | undefined} */
  let exited;
  let lastLog = "";
  const gone = new Promise((resolve) => keeper.once("exit", resolve));
  createInterface({ input: keeper.stdout }).on("line", (line) => {
    /** @type {{ event: string, pid?: number, reason?: string }} */
    const message = JSON.parse(line);
    pid = message.event === "started" ? message.pid : undefined;
    exited = message.event === "exited" ? message.reason : undefined;
    if (exited !== undefined) lastLog = tail(logFile);
  });

  /** @param {number | undefined} formerPid */
  async function ready(formerPid) {
    const deadline = Date.now() + START_TIMEOUT_MS;
    while (Date.now() < deadline) {
      if (exited !== undefined) throw new Error(`PostgreSQL ended (${exited}).\n${lastLog}`);
      if (pid !== undefined && pid !== formerPid && isReady(plan.folder, pid)) return;
      if (keeper.exitCode !== null) throw new Error("The watchdog of PostgreSQL ended.");
      await delay(10);
    }
    throw new Error(`PostgreSQL was not ready within ${START_TIMEOUT_MS} ms.\n${tail(logFile)}`);
  }

  return {
    ready: () => ready(undefined),
    pid: () => pid,
    /** @param {"immediate" | "fast"} [mode] */
    restart: async (mode = "fast") => {
      const former = pid;
      exited = undefined;
      keeper.stdin.write(`restart ${mode}\n`);
      await ready(former);
    },
    stop: async () => {
      if (keeper.exitCode !== null || keeper.signalCode !== null) return;
      keeper.ref();
      keeper.stdin.end("stop\n");
      await gone;
    },
    /** Ends the watchdog but leaves the folder, for another try on another port. */
    abandon: async () => {
      keeper.kill("SIGKILL");
      await gone;
    },
  };
}

/**
 * The postmaster writes its state into the eighth line of its pid file: no client is needed to ask.
 * @param {string} folder
 * @param {number} pid
 */
function isReady(folder, pid) {
  try {
    const lines = readFileSync(path.join(folder, "data", "postmaster.pid"), "utf8").split("\n");
    return Number(lines[0]) === pid && lines[7]?.trim() === "ready";
  } catch {
    return false;
  }
}

/** @param {string} file */
function tail(file) {
  try {
    return readFileSync(file, "utf8").split("\n").slice(-12).join("\n");
  } catch {
    return "";
  }
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const server = await startPostgres();
  console.log(server.url);
  const alive = setInterval(() => {}, 60_000);
  for (const signal of ["SIGINT", "SIGTERM"]) {
    process.once(signal, () => {
      clearInterval(alive);
      void server.stop();
    });
  }
}
