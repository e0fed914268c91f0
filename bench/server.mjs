// The PostgreSQL that every workload shares: one server per benchmark, one fresh database per trial, so that no participant
// pays for rows that another one left behind and the statistics of a database belong to one participant alone.
import pg from "pg";
import { startPostgres } from "../tools/postgres-server.mjs";

/** Durability as in production, and no checkpoint in the middle of a trial. */
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

/** Starts the server and returns what workloads need of it. */
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

    /**
     * Commits in one database; in the whole cluster, WAL and the transactions that wrote something (only those get a
     * number, and only those wait for the disk). Exact once no session is left in that database: sessions
     * report what they counted when they end.
     * @param {string} database
     */
    async counters(database) {
      await sessionsGone(admin, database);
      const { rows } = await admin.query(
        `select (select xact_commit from pg_stat_database where datname = $1)::float8 as commits,
                pg_snapshot_xmax(pg_current_snapshot())::text::float8 as writes,
                (pg_current_wal_insert_lsn() - '0/0')::float8 as wal_bytes`,
        [database],
      );
      return rows[0];
    },

    async close() {
      await admin.end();
      await server.stop();
    },
  };
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
