/**
 * Creates the sandboxes of a test file: migrated databases with tables of the application. Each is a copy of the first, and
 * is removed when it is released, or at the end of the file.
 */
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe } from "vitest";
import { migrate } from "../../../src/storage/migrations/migrate.ts";
import { raw } from "../../../src/storage/sql.ts";
import { postgresCopies } from "../../support/places.ts";
import { openSandbox, type Sandbox } from "./sandbox.ts";
import { peopleRows, peopleTables } from "../scenarios/outbox/personal-data.ts";

/** Runs the same tests on each database, in a block with its name. */
export function onEachDialect(tests: (sandboxes: SandboxPool) => void): void {
  onDialect("sqlite", tests);
  onDialect("postgres", tests);
}

export function onDialect(dialect: Sandbox["dialect"], tests: (sandboxes: SandboxPool) => void): void {
  describe(dialect, () => {
    const sandboxes = new SandboxPool(dialect);
    afterAll(() => sandboxes.close());
    tests(sandboxes);
  });
}

export class SandboxPool {
  readonly dialect: Sandbox["dialect"];
  readonly #folder: string = mkdtempSync(join(tmpdir(), "amends-crash-"));
  /** Removes the database of a sandbox, by the sandbox's URL. */
  readonly #inUse = new Map<string, () => Promise<void>>();
  #first: Promise<void> | undefined;
  #count = 0;

  constructor(dialect: Sandbox["dialect"]) {
    this.dialect = dialect;
  }

  async create(): Promise<Sandbox> {
    const number = ++this.#count;
    const effects = join(this.#folder, `${number}.effects`);
    const { at: url, remove } = await (this.dialect === "sqlite" ? this.#copyFile(number) : copyDatabase());
    this.#inUse.set(url, remove);
    return { dialect: this.dialect, url, effects };
  }

  /** Removes the database of a sandbox that was checked. What was recorded outside of it stays. */
  async release({ url }: Sandbox): Promise<void> {
    const remove = this.#inUse.get(url);
    this.#inUse.delete(url);
    await remove?.();
  }

  async close(): Promise<void> {
    for (const remove of this.#inUse.values()) await remove();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #copyFile(number: number): Promise<{ at: string; remove: () => Promise<void> }> {
    const first = join(this.#folder, "empty.db");
    this.#first ??= createTables({ dialect: "sqlite", url: first, effects: "" });
    await this.#first;
    const at = join(this.#folder, `${number}.db`);
    copyFileSync(first, at);
    return { at, remove: async () => rmSync(at, { force: true }) };
  }
}

const copyDatabase = postgresCopies("sandbox", (url) =>
  createTables({ dialect: "postgres", url, effects: "" }),
);

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
