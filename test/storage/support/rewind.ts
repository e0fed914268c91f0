/**
 * A PostgreSQL that goes back in time. A backup of a running server is taken, as an asynchronous standby would have it;
 * what the server commits afterwards is lost when the backup takes its place, on a timeline of its own.
 */
import { chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { copyCluster, startPostgres, type PostgresServer } from "../../../tools/postgres-server.mjs";

export interface Backup {
  /** The server that this backup becomes: promoted, or a standby that can be read only. */
  start(as: "primary" | "standby"): Promise<PostgresServer>;
  remove(): void;
}

/** What has been committed so far, and nothing later. */
export async function backUp(server: PostgresServer): Promise<Backup> {
  const source = server.dataDir as string;
  const folder = mkdtempSync(join(tmpdir(), "amends-backup-"));
  const dataDir = join(folder, "data");
  const client = new pg.Client(server.url);
  await client.connect();
  await client.query("select pg_backup_start('rewind', true)");
  copyCluster(source, dataDir);
  const { rows } = await client.query<{ labelfile: string }>("select labelfile from pg_backup_stop(false)");
  await client.end();
  // Whatever was written until the backup ended is needed to make it consistent.
  rmSync(join(dataDir, "pg_wal"), { recursive: true });
  copyCluster(join(source, "pg_wal"), join(dataDir, "pg_wal"));
  rmSync(join(dataDir, "postmaster.pid"), { force: true });
  const write = (name: string, text: string): void => {
    const { uid, gid } = statSync(dataDir);
    writeFileSync(join(dataDir, name), text);
    chownSync(join(dataDir, name), uid, gid);
  };
  write("backup_label", rows[0]?.labelfile ?? "");
  return {
    async start(as) {
      write(as === "primary" ? "recovery.signal" : "standby.signal", "");
      rmSync(join(dataDir, as === "primary" ? "standby.signal" : "recovery.signal"), { force: true });
      const settings = as === "primary" ? { restore_command: "/bin/false" } : { hot_standby: "on" };
      return startPostgres({ own: true, copyOf: { dataDir, url: server.url }, settings });
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
