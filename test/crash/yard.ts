/** Makes the databases of the lanes: migrated, with a table of the user's own, thrown away together. */
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, describe, inject } from "vitest";
import { migrate } from "../../src/storage/migrations/migrate.ts";
import { raw } from "../../src/storage/sql.ts";
import { createDatabase } from "../../tools/postgres-server.mjs";
import { openPlace, type Place } from "./place.ts";
import { people, tables as peopleTables } from "./people.ts";
import { removeCopies } from "./process.ts";

/** The same tests on each database, in blocks that are called after it. */
export function onEachYard(tests: (yard: Yard) => void, tables?: readonly string[]): void {
  onYard("sqlite", tests, tables);
  onYard("postgres", tests, tables);
}

/** `tables` are those that the tests write to. */
export function onYard(
  dialect: Place["dialect"],
  tests: (yard: Yard) => void,
  tables: readonly string[] = SAGA_TABLES,
): void {
  describe(dialect, () => {
    const yard = new Yard(dialect, tables);
    afterAll(async () => {
      removeCopies();
      await yard.close();
    });
    tests(yard);
  });
}

let yards = 0;

export class Yard {
  readonly dialect: Place["dialect"];
  readonly #folder: string = mkdtempSync(join(tmpdir(), "amends-crash-"));
  readonly #name: string = `crash_${process.pid}_${++yards}`;
  #first: Promise<string> | undefined;
  #places = 0;
  readonly #free: string[] = [];
  #pool: pg.Pool | undefined;

  readonly #tables: readonly string[];

  constructor(dialect: Place["dialect"], tables: readonly string[]) {
    this.dialect = dialect;
    this.#tables = tables;
  }

  async place(): Promise<Place> {
    const number = ++this.#places;
    const effects = join(this.#folder, `${number}.effects`);
    this.#first ??= this.#prepare();
    const first = await this.#first;
    if (this.dialect === "sqlite") {
      const url = join(this.#folder, `${number}.db`);
      copyFileSync(first, url);
      return { dialect: "sqlite", url, schema: "", effects };
    }
    const schema = this.#free.pop();
    const place: Place = { dialect: "postgres", url: first, schema: schema ?? `lane_${number}`, effects };
    await (schema === undefined ? furnish(place) : this.#clear(place));
    return place;
  }

  /** Whoever has checked it needs it no longer: on PostgreSQL emptying is cheaper than making a new one. */
  giveBack(place: Place): void {
    if (this.dialect === "postgres") this.#free.push(place.schema);
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

  async #clear({ url, schema }: Place): Promise<void> {
    this.#pool ??= new pg.Pool({ connectionString: url, max: 2 });
    await this.#pool.query(`truncate ${this.#tables.map((name) => `${schema}.${name}`).join(", ")}`);
    if (!this.#tables.includes("people")) return;
    for (const statement of people((name) => `${schema}.${name}`)) await this.#pool.query(statement);
  }

  /** On SQLite a finished file, to be copied; on PostgreSQL a database for the schemas to come. */
  async #prepare(): Promise<string> {
    if (this.dialect === "postgres") return createDatabase(inject("postgresUrl"), this.#name);
    const url = join(this.#folder, "empty.db");
    await furnish({ dialect: "sqlite", url, schema: "", effects: "" });
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

async function furnish(place: Place): Promise<void> {
  const database = await openPlace(place);
  await migrate(database);
  const table = (name: string): string => database.dialect.table(name).text;
  await database.query(raw(`create table ${table("ledger")} (entry text not null)`));
  for (const statement of [...peopleTables(table), ...people(table)]) await database.query(raw(statement));
  // The file is copied as it is, without the log beside it.
  if (place.dialect === "sqlite") await database.query(raw("pragma wal_checkpoint(truncate)"));
  await database.close();
}
