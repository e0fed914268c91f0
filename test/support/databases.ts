/**
 * The databases that rules are shown on. `onEachDatabase` runs the same tests on SQLite in a file and on a real
 * PostgreSQL; each test gets a database of its own, migrated, with a virtual clock where it asks for one.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Amends, type AnySaga, type DatabaseOptions, type WorkerOptions } from "amends";
import { postgres } from "amends/postgres";
import { sqlite } from "amends/sqlite";
import { virtualClock, type VirtualClock } from "amends/testing";
import pg from "pg";
import { afterEach, describe, inject } from "vitest";
import type { Clock } from "../../src/storage/clock.ts";
import type { Database } from "../../src/storage/database.ts";
import { migrate } from "../../src/storage/migrations/migrate.ts";
import { createDatabase } from "../../tools/postgres-server.mjs";

export type DatabaseName = "postgres" | "sqlite";

export interface TestDatabase {
  readonly name: DatabaseName;
  /** A fresh, migrated database; every call with the same `place` opens the same one again, as another process would. */
  open(options?: OpenOptions): Promise<Database>;
  /** Throws this test's database away: the next one that is opened is fresh. */
  forget(): Promise<void>;
  /** Where the database is: a URL or a file. */
  place(): Promise<string>;
  /** An Amends on this test's database. Closed when the test ends. */
  amends(options: AmendsOptions): Promise<Amends>;
  /** A started worker on it. */
  worker(amends: Amends, options?: WorkerOptions): Promise<ReturnType<Amends["worker"]>>;
}

export interface OpenOptions {
  readonly clock?: Clock | undefined;
  readonly connections?: number;
  readonly migrated?: boolean;
}

export type AmendsOptions = Omit<DatabaseOptions<unknown>, "database" | "sagas" | "storage"> & {
  readonly sagas?: readonly AnySaga[];
  readonly clock?: VirtualClock | undefined;
  readonly database?: Database;
  readonly connections?: number;
};

let count = 0;
const postgresName = (): string => `test_${process.pid}_${(count += 1)}`;

/** The place of the test that runs now: made on first use, thrown away after the test. */
class Places {
  #place: Promise<string> | undefined;
  #cleanups: (() => Promise<unknown>)[] = [];
  readonly name: DatabaseName;

  constructor(name: DatabaseName) {
    this.name = name;
  }

  place(): Promise<string> {
    this.#place ??= this.name === "postgres" ? this.#makePostgres() : Promise.resolve(this.#makeSqlite());
    return this.#place;
  }

  onEnd(cleanup: () => Promise<unknown>): void {
    this.#cleanups.push(cleanup);
  }

  async end(): Promise<void> {
    for (const cleanup of this.#cleanups.toReversed()) await cleanup();
    this.#cleanups = [];
    this.#place = undefined;
  }

  async #makePostgres(): Promise<string> {
    const server = inject("postgresUrl");
    const name = postgresName();
    await createDatabase(server, name);
    this.onEnd(() => dropDatabase(server, name));
    const url = new URL(server);
    url.pathname = `/${name}`;
    return url.href;
  }

  #makeSqlite(): string {
    const folder = mkdtempSync(join(tmpdir(), "amends-test-"));
    this.onEnd(async () => rmSync(folder, { recursive: true, force: true }));
    return join(folder, "amends.db");
  }
}

async function dropDatabase(server: string, name: string): Promise<void> {
  const client = new pg.Client(server);
  await client.connect();
  await client.query(`drop database if exists "${name}" with (force)`);
  await client.end();
}

export function onEachDatabase(tests: (database: TestDatabase) => void): void {
  onDatabase("sqlite", tests);
  onDatabase("postgres", tests);
}

export function onDatabase(name: DatabaseName, tests: (database: TestDatabase) => void): void {
  describe(name, () => {
    const places = new Places(name);
    afterEach(() => places.end());
    const open: TestDatabase["open"] = async ({ clock, connections = 4, migrated = true } = {}) => {
      const place = await places.place();
      const database = (
        name === "postgres"
          ? postgres({ url: place, connections, ...(clock && { clock }) })
          : sqlite(place, { ...(clock && { clock }) })
      ) as Database;
      places.onEnd(() => database.close());
      if (migrated) await migrate(database);
      return database;
    };
    tests({
      name,
      open,
      place: () => places.place(),
      forget: () => places.end(),
      async amends({ clock, database, connections, ...options }) {
        const db = database ?? (await open({ clock, ...(connections !== undefined && { connections }) }));
        const amends = new Amends({ ...options, database: db });
        // A test that is over waits for no call that it has left hanging.
        places.onEnd(() => amends.close({ deadline: "0s" }).catch(() => undefined));
        return amends;
      },
      async worker(amends, options) {
        const worker = amends.worker(options);
        await worker.start();
        places.onEnd(() => worker.stop({ deadline: "0s" }));
        return worker;
      },
    });
  });
}

export { virtualClock };
