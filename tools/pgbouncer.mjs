/**
 * A real PgBouncer in transaction mode with its defaults, in front of a PostgreSQL server. The program comes from the PATH:
 * no npm package has it.
 */
import { spawn, spawnSync } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { serverIdentity } from "./postgres-binaries.mjs";

/**
 * @typedef {object} PgBouncer
 * @property {string} version
 * @property {(url: string) => string} through the URL that leads to the same database through the pooler
 * @property {() => Promise<void>} restart ends the pooler and its connections at once, and starts it again on the same port
 * @property {() => Promise<void>} stop
 */

const START_TIMEOUT_MS = 20_000;
const PLACES = ["/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin"];

/**
 * The version; throws if there is no PgBouncer.
 * @returns {{ program: string, version: string }}
 */
export function findPgBouncer() {
  const folders = [...(process.env["PATH"] ?? "").split(path.delimiter), ...PLACES];
  const program = folders.map((folder) => path.join(folder, "pgbouncer")).find((file) => existsSync(file));
  const run = program === undefined ? undefined : spawnSync(program, ["--version"], { encoding: "utf8" });
  const version = /PgBouncer (\S+)/.exec(run?.stdout ?? "")?.[1];
  if (program === undefined || version === undefined) {
    throw new Error(
      "There is no pgbouncer on the PATH. Install it: `apt-get install pgbouncer` (Debian, Ubuntu), `brew install pgbouncer` (macOS).",
    );
  }
  return { program, version };
}

/**
 * @param {string} serverUrl a superuser's URL of any database on the server
 * @param {Record<string, string | number>} [settings] on top of the defaults
 * @returns {Promise<PgBouncer>}
 */
export async function startPgBouncer(serverUrl, settings = {}) {
  const { program, version } = findPgBouncer();
  const server = new URL(serverUrl);
  const identity = serverIdentity();
  const folder = mkdtempSync(path.join(tmpdir(), "amends-pgbouncer-"));
  const port = await freePort();
  const file = path.join(folder, "pgbouncer.ini");
  const log = path.join(folder, "log");
  const lines = [
    "[databases]",
    `* = host=${server.hostname} port=${server.port} user=${server.username} password=${server.password}`,
    "[pgbouncer]",
    "listen_addr = 127.0.0.1",
    `listen_port = ${port}`,
    "unix_socket_dir =",
    "auth_type = any",
    "pool_mode = transaction",
    `logfile = ${log}`,
    ...Object.entries(settings).map(([name, value]) => `${name} = ${value}`),
  ];
  writeFileSync(file, `${lines.join("\n")}\n`, { mode: 0o600 });
  if (identity !== undefined) for (const one of [folder, file]) chownSync(one, identity.uid, identity.gid);

  const start = async () => {
    const child = spawn(program, ["-q", file], { stdio: "ignore", cwd: folder, ...identity });
    /** @type {Promise<void>} */
    const gone = new Promise((resolve) => child.once("exit", () => resolve()));
    await answering(port, () => child.exitCode !== null, log);
    return async () => {
      child.kill("SIGKILL");
      await gone;
    };
  };

  let kill = await start();
  return {
    version,
    through: (url) => {
      const through = new URL(url);
      through.host = `127.0.0.1:${port}`;
      return through.href;
    },
    restart: async () => {
      await kill();
      kill = await start();
    },
    stop: async () => {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
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
 * @param {number} port
 * @param {() => boolean} hasEnded
 * @param {string} log
 */
async function answering(port, hasEnded, log) {
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (Date.now() < deadline && !hasEnded()) {
    /** @type {boolean} */
    const open = await new Promise((resolve) => {
      const socket = connect(port, "127.0.0.1", () => resolve(true));
      socket.once("error", () => resolve(false));
      socket.once("connect", () => socket.destroy());
    });
    if (open) return;
    await delay(20);
  }
  throw new Error(`PgBouncer did not start.\n${existsSync(log) ? readFileSync(log, "utf8") : ""}`);
}
