/** Checks that the settings of the database are durable, and that its time limits are set. */
import type { Database } from "../../storage/database.ts";
import {
  countConnections,
  damageOf,
  readPragma,
  readSettings,
  sqliteVersion,
  type ServerSettings,
} from "../../storage/read/diagnosis.ts";
import { ok, warn, wrong, type Finding } from "./finding.ts";

const PROBLEMS_MAX = 5;

/** Reads every page of the file: damage that no statement has met yet is found here. */
export async function fileOf(db: Database): Promise<readonly Finding[]> {
  if (db.dialect.name !== "sqlite") return [];
  const problems = await damageOf(db, PROBLEMS_MAX);
  if (problems.length === 0) return [ok("file", "quick_check finds no damage")];
  const advice = "The file is damaged: stop all workers, keep a copy, and restore a backup.";
  return [wrong("file", problems.join("; ").replaceAll(/\s+/g, " ").slice(0, 300), advice)];
}

export async function settingsOf(db: Database, workerConcurrency: number): Promise<readonly Finding[]> {
  return db.dialect.name === "postgres" ? postgresSettings(db, workerConcurrency) : sqliteSettings(db);
}

async function postgresSettings(db: Database, concurrency: number): Promise<readonly Finding[]> {
  const settings = await readSettings(db);
  const get = (name: keyof ServerSettings): string => settings[name];
  const timeouts = ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"] as const;
  const without = timeouts.filter((name) => get(name) === "0");
  const commit = get("synchronous_commit");
  return [
    ok("server", `PostgreSQL ${get("server_version")}`),
    durabilityOf(settings, db.access?.trustsServer === true),
    commit === "off" || commit === "local"
      ? warn(
          "commits",
          `synchronous_commit is ${commit}`,
          commit === "off"
            ? "Turn it on: a crash loses the last moments, and acts run twice."
            : "Fine without a standby; with one, a failover loses the last moments.",
        )
      : ok("commits", `synchronous_commit is ${commit}`),
    without.length === 0
      ? ok("time limits", timeouts.map((name) => `${name} ${get(name)}`).join(", "))
      : warn(
          "time limits",
          `${without.join(", ")} not set`,
          "Your own pool has no limits by default: set them in its options.",
        ),
    ...(await connectionsOf(db, Number(get("max_connections")), concurrency)),
  ];
}

function durabilityOf(settings: ServerSettings, isTrusted: boolean): Finding {
  const { fsync, full_page_writes: pages } = settings;
  if (fsync === "on" && pages === "on") return ok("durability", "fsync and full_page_writes are on");
  const detail = `fsync is ${fsync}, full_page_writes is ${pages}`;
  if (isTrusted)
    return warn(
      "durability",
      `${detail}; \`durability: "server"\` accepts that`,
      "Right for a host whose storage keeps commits by itself, and for tests. Elsewhere a crash of the machine loses or corrupts what was acknowledged.",
    );
  const advice = "Turn both on: a crash of the machine can lose or corrupt what was acknowledged.";
  return wrong("durability", detail, advice);
}

/** One connection is enough to be correct; what may be missing is room on the server, and speed. */
async function connectionsOf(db: Database, most: number, concurrency: number): Promise<readonly Finding[]> {
  const taken = await countConnections(db);
  const own = db.connections;
  const pool = own === undefined ? "" : `, this pool takes up to ${own} for ${concurrency} sagas at once`;
  const detail = `${taken} of ${most} connections are taken${pool}`;
  if (taken + (own ?? 1) > most - SPARE)
    return [
      wrong(
        "connections",
        detail,
        "Lower `connections` of postgres({ … }) or raise max_connections: each process opens that many, and one to listen.",
      ),
    ];
  if (own !== undefined && own < 2)
    return [
      warn(
        "connections",
        detail,
        "With one connection everything waits in line: give `connections` 5 to 10.",
      ),
    ];
  return [ok("connections", detail)];
}

/** What the server keeps for its superuser. */
const SPARE = 3;

const SYNCHRONOUS = ["off", "normal", "full", "extra"];

async function sqliteSettings(db: Database): Promise<readonly Finding[]> {
  const journal = String(await readPragma(db, "journal_mode"));
  const synchronous = Number(await readPragma(db, "synchronous"));
  const secure = Number(await readPragma(db, "secure_delete"));
  const busy = Number(await readPragma(db, "busy_timeout"));
  return [
    ok("library", `SQLite ${await sqliteVersion(db)}`),
    journal === "wal" || journal === "memory"
      ? ok("journal", `journal_mode is ${journal}`)
      : wrong(
          "journal",
          `journal_mode is ${journal}`,
          "Use a local disk: a network file system has no write-ahead log.",
        ),
    synchronous >= SYNCHRONOUS.indexOf("full")
      ? ok("durability", `synchronous is ${SYNCHRONOUS[synchronous]}`)
      : wrong(
          "durability",
          `synchronous is ${SYNCHRONOUS[synchronous] ?? synchronous}`,
          "Set it to full: a crash of the machine can lose what was acknowledged.",
        ),
    secure === 1
      ? ok("erasure", "secure_delete is on")
      : wrong("erasure", "secure_delete is off", "Turn it on: what was erased stays readable in the file."),
    busy > 0
      ? ok("locks", `busy_timeout is ${busy} ms`)
      : warn(
          "locks",
          "busy_timeout is 0",
          "Set it: another process that writes makes every statement fail at once.",
        ),
  ];
}
