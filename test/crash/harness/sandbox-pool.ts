/** Creates the sandboxes of a test file: migrated databases with tables of the application, all removed at the end. */
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, describe, inject } from "vitest";
import { migrate } from "../../../src/storage/migrations/migrate.ts";
import { raw } from "../../../src/storage/sql.ts";
import { createDatabase } from "../../../tools/postgres-server.mjs";
import { openSandbox, type Sandbox } from "./sandbox.ts";
import { peopleRows, peopleTables } from "../scenarios/outbox/personal-data.ts";
import { removeCopies } from "./child-process.ts";

/** Runs the same tests on each database, in a block with its name. */
export function onEachDialect(tests: (sandboxes: SandboxPool) => void, tables?: readonly string[]): void {
  onDialect("sqlite", tests, tables);
  onDialect("postgres", tests, tables);
}

/** `tables` are the tables that the tests write to. */
export function onDialect(
  dialect: Sandbox["dialect"],
  tests: (sandboxes: SandboxPool) => void,
  tables: readonly string[] = SAGA_TABLES,
): void {
  describe(dialect, () => {
    const sandboxes = new SandboxPool(dialect, tables);
    afterAll(async () => {
      removeCopies();
      await sandboxes.close();
    });
    tests(sandboxes);
  });
}

let pools = 0;

export class SandboxPool {
  readonly dialect: Sandbox["dialect"];
  readonly #folder: string = mkdtempSync(join(tmpdir(), "amends-crash-"));
  readonly #name: string = `crash_${process.pid}_${++pools}`;
  #first: Promise<string> | undefined;
  #inUse = 0;
  readonly #free: string[] = [];
  #pool: pg.Pool | undefined;

  readonly #tables: readonly string[];

  constructor(dialect: Sandbox["dialect"], tables: readonly string[]) {
    this.dialect = dialect;
    this.#tables = tables;
  }

  async create(): Promise<Sandbox> {
    const number = ++this.#inUse;
    const effects = join(this.#folder, `${number}.effects`);
    this.#first ??= this.#prepare();
    const first = await this.#first;
    if (this.dialect === "sqlite") {
      const url = join(this.#folder, `${number}.db`);
      copyFileSync(first, url);
      return { dialect: "sqlite", url, schema: "", effects };
    }
    const schema = this.#free.pop();
    const sandbox: Sandbox = { dialect: "postgres", url: first, schema: schema ?? `run_${number}`, effects };
    await (schema === undefined ? createTables(sandbox) : this.#clear(sandbox));
    return sandbox;
  }

  /** Returns a sandbox that was checked. On PostgreSQL it is reused: emptying a schema is cheaper than creating one. */
  release(sandbox: Sandbox): void {
    if (this.dialect === "postgres") this.#free.push(sandbox.schema);
  }

  async close(): Promise<void> {
    rmSync(this.#folder, { recursive: true, force: true });
    if (this.dialect === "sqlite" || !this.#first) return;
    await this.#pool?.end();
    const client = new pg.Client(inject("postgresUrl"));
    await client.connect();
    await client.query(`drop database if exists "${this.#name}" with (force)`);
    await client.end();
  }

  async #clear({ url, schema }: Sandbox): Promise<void> {
    this.#pool ??= quietPool(url);
    await this.#pool.query(`truncate ${this.#tables.map((name) => `${schema}.${name}`).join(", ")}`);
    if (!this.#tables.includes("people")) return;
    for (const statement of peopleRows((name) => `${schema}.${name}`)) await this.#pool.query(statement);
  }

  /** On SQLite a migrated file to copy, on PostgreSQL a database for the schemas. */
  async #prepare(): Promise<string> {
    if (this.dialect === "postgres") return createDatabase(inject("postgresUrl"), this.#name);
    const url = join(this.#folder, "empty.db");
    await createTables({ dialect: "sqlite", url, schema: "", effects: "" });
    return url;
  }
}

const SAGA_TABLES = [
  "saga_executions",
  "saga_logs",
  "saga_signals",
  "saga_interests",
  "saga_state",
  "outbox",
  "audit_events",
  "subjects",
  "ledger",
  "people",
  "letters",
];

async function createTables(sandbox: Sandbox): Promise<void> {
  const database = await openSandbox(sandbox);
  await migrate(database);
  const table = (name: string): string => database.dialect.table(name).text;
  await database.query(raw(`create table ${table("ledger")} (entry text not null)`));
  for (const statement of [...peopleTables(table), ...peopleRows(table)])
    await database.query(raw(statement));
  // The file is copied without its write-ahead log.
  if (sandbox.dialect === "sqlite") await database.query(raw("pragma wal_checkpoint(truncate)"));
  await database.close();
}

/** `drop database with (force)` may end a connection that is just being closed: its error is ignored. */
function quietPool(connectionString: string): pg.Pool {
  const pool = new pg.Pool({ connectionString, max: 2 });
  pool.on("error", () => undefined);
  return pool;
}
