/**
 * The databases that rules are shown on. `onEachDatabase` runs the same tests on SQLite in a file and on a real
 * PostgreSQL; each test gets a database of its own, migrated, with a virtual clock where it asks for one.
 */
import { Amends, type AnySaga, type DatabaseOptions, type WorkerOptions } from "amends";
import { postgres } from "amends/postgres";
import { sqlite } from "amends/sqlite";
import { virtualClock, type VirtualClock } from "amends/testing";
import { afterEach, describe } from "vitest";
import type { Clock } from "../../src/storage/clock.ts";
import type { Database } from "../../src/storage/database.ts";
import { migrate } from "../../src/storage/migrations/migrate.ts";
import { chosenDatabases, type DatabaseName } from "../setup/chosen-databases.ts";
import { makePlace, type Content, type Place } from "./places.ts";

export type { DatabaseName } from "../setup/chosen-databases.ts";

export interface TestDatabase {
  readonly name: DatabaseName;
  /** A fresh, migrated database; every call with the same `place` opens the same one again, as another process would. */
  open(options?: OpenOptions): Promise<Database>;
  /** Throws this test's database away: the next one that is opened is fresh. */
  forget(): Promise<void>;
  /** Where the database is: a URL or a file. */
  place(): Promise<string>;
  /** The same, with the roles of `migrate({ roles: true })`. PostgreSQL only. */
  granted(): Promise<string>;
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

/** The place of the test that runs now: made on first use, thrown away after the test. */
class TestPlace {
  #place: Promise<Place> | undefined;
  #granted: Promise<unknown> | undefined;
  #cleanups: (() => Promise<unknown>)[] = [];
  readonly name: DatabaseName;

  constructor(name: DatabaseName) {
    this.name = name;
  }

  /** `content` is what a place that is made now holds. One that exists already stays as it is. */
  get(content: Content): Promise<Place> {
    this.#place ??= makePlace(this.name, content).then((place) => {
      this.#cleanups.unshift(() => place.remove());
      return place;
    });
    return this.#place;
  }

  /** Grants the roles, unless that is done already. */
  async granted(open: () => Promise<Database>): Promise<Place> {
    const place = await this.get("granted");
    if (place.content !== "granted")
      await (this.#granted ??= open().then((database) => migrate(database, { roles: true })));
    return place;
  }

  onEnd(cleanup: () => Promise<unknown>): void {
    this.#cleanups.push(cleanup);
  }

  async end(): Promise<void> {
    for (const cleanup of this.#cleanups.toReversed()) await cleanup();
    this.#cleanups = [];
    this.#place = undefined;
    this.#granted = undefined;
  }
}

export function onEachDatabase(tests: (database: TestDatabase) => void): void {
  onDatabase("sqlite", tests);
  onDatabase("postgres", tests);
}

export function onDatabase(name: DatabaseName, tests: (database: TestDatabase) => void): void {
  describeOn(name, () => {
    const places = new TestPlace(name);
    afterEach(() => places.end());
    const open: TestDatabase["open"] = async ({ clock, connections = 4, migrated = true } = {}) => {
      const place = await places.get(migrated ? "migrated" : "empty");
      const database = (
        name === "postgres"
          ? postgres({ url: place.at, connections, ...(clock && { clock }) })
          : sqlite(place.at, { ...(clock && { clock }) })
      ) as Database;
      places.onEnd(() => database.close());
      if (migrated && place.content === "empty") await migrate(database);
      else if (migrated) await database.open();
      return database;
    };
    tests({
      name,
      open,
      place: async () => (await places.get("empty")).at,
      granted: async () => (await places.granted(open)).at,
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

/** A block of tests on one database, under its name, skipped where `AMENDS_DATABASES` leaves that database out. */
export function describeOn(name: DatabaseName, tests: () => void): void {
  describe.skipIf(!chosenDatabases.includes(name))(name, () => {
    tests();
  });
}

export { virtualClock };
