// The PostgreSQL that all comparisons share: one server per benchmark, one fresh database per side, so that no side pays for
// rows that another one left behind and the statistics of a database belong to one side alone.
import { readdirSync, readFileSync } from "node:fs";
import pg from "pg";
import { startPostgres } from "../tools/postgres-server.mjs";

/** Durability as in production, and no checkpoint in the middle of a slice. */
export const serverSettings = {
  fsync: "on",
  synchronous_commit: "on",
  full_page_writes: "on",
  shared_buffers: "512MB",
  max_wal_size: "8GB",
  checkpoint_timeout: "30min",
  max_connections: 200,
};

const mustBeOn = ["fsync", "synchronous_commit", "full_page_writes"];

/** Starts the server and returns what comparisons need of it. */
export async function openServer() {
  const server = await startPostgres({ settings: serverSettings, own: true });
  const admin = new pg.Client({ connectionString: server.url });
  await admin.connect();
  for (const name of mustBeOn) {
    const value = (await admin.query(`show ${name}`)).rows[0][name];
    if (value !== "on")
      throw new Error(`This PostgreSQL runs with ${name} = ${value}; the figures would mean nothing.`);
  }
  let databases = 0;

  return {
    url: server.url,
    version: (await admin.query("show server_version")).rows[0].server_version,

    /** @param {string} label */
    async newDatabase(label) {
      const name = `bench_${label.replaceAll(/[^a-z0-9]+/g, "_")}_${++databases}`;
      await admin.query(`create database ${name}`);
      const url = new URL(server.url);
      url.pathname = `/${name}`;
      return { name, url: url.href, drop: () => admin.query(`drop database ${name} with (force)`) };
    },

    checkpoint: () => admin.query("checkpoint"),

    /** The processor time that the processes of the server have used, in microseconds; 0 where the system does not tell. */
    cpuUs: () => cpuOfServerUs(server.pid),

    /** How many transactions of the server have written something: only those get a number, and only those wait for the disk. */
    async writes() {
      const { rows } = await admin.query(
        "select pg_snapshot_xmax(pg_current_snapshot())::text::float8 as at",
      );
      return rows[0].at;
    },

    /**
     * Commits in one database. Exact once no session is left in it: sessions report what they counted when they end.
     * @param {string} database
     */
    async commits(database) {
      await sessionsGone(admin, database);
      const { rows } = await admin.query(
        "select xact_commit::float8 as commits from pg_stat_database where datname = $1",
        [database],
      );
      return rows[0].commits;
    },

    async close() {
      await admin.end();
      await server.stop();
    },
  };
}

/** Linux counts in hundredths of a second. */
const tickUs = 10_000;

/** Of its processes that run, and of those that have ended. @param {number | undefined} postmaster */
function cpuOfServerUs(postmaster) {
  if (process.platform !== "linux" || postmaster === undefined) return 0;
  let ticks = 0;
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, "utf8");
      // The name of the program is in parentheses and may hold anything.
      const [, parent, ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      const [user, system, endedUser, endedSystem] = rest.slice(9, 13).map(Number);
      if (Number(entry) === postmaster) ticks += endedUser + endedSystem;
      else if (Number(parent) === postmaster) ticks += user + system;
    } catch {
      // The process has ended meanwhile.
    }
  }
  return ticks * tickUs;
}

async function sessionsGone(admin, database) {
  const deadline = Date.now() + 10_000;
  while (Date.now() < deadline) {
    const { rows } = await admin.query(
      "select count(*)::int as open from pg_stat_activity where datname = $1 and backend_type = 'client backend'",
      [database],
    );
    if (rows[0].open === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
