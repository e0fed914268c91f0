import { SqlSagaStorage, type SagaStorage } from "amends";
import { postgres } from "amends/postgres";
import { MemorySagaStorage } from "amends/sqlite";
import {
  sagaStorageConformance,
  virtualClock,
  type ConformanceOptions,
  type MakeStorage,
} from "amends/testing";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { MapSagaStorage } from "../../examples/own-storage/map-storage.ts";
import { createDatabase } from "../../tools/postgres-server.mjs";
import { describeOn, onDatabase } from "../support/databases.ts";
import { RunningMapStorage } from "./running-map-storage.ts";

function conforms(make: MakeStorage, options?: ConformanceOptions): void {
  const cases = sagaStorageConformance(make, options).map(({ name, run }) => [name, run] as const);
  it.each(cases)("%s", async (_, run) => {
    await expect(run()).resolves.toBeUndefined();
  });
}

/** Whoever opened it closes it when the test ends, or it needs no closing. */
function kept(storage: SagaStorage): Awaited<ReturnType<MakeStorage>> {
  return { storage, close: async () => undefined };
}

onDatabase("sqlite", (database) => {
  const clock = virtualClock();
  const make: MakeStorage = async () =>
    kept(new SqlSagaStorage(await database.open({ clock, migrated: false })));
  conforms(make, { wait: (ms) => clock.advance(ms) });
});

describeOn("postgres", () => {
  const server = new URL(inject("postgresUrl"));
  const name = `conformance_${process.pid}`;
  let count = 0;
  beforeAll(() => createDatabase(server.href, name));

  // One database for all, a schema for each: making a database takes longer than most cases do.
  conforms(async () => {
    const url = new URL(server);
    url.pathname = `/${name}`;
    const database = postgres({ url: url.href, schema: `case_${(count += 1)}`, connections: 4 });
    return { storage: new SqlSagaStorage(database), close: () => database.close() };
  });
});

describe("memory", () => {
  conforms(async () => kept(new MemorySagaStorage()));
});

describe("a storage of one's own, without runs", () => {
  conforms(async () => kept(new MapSagaStorage()), { hasCreateRun: false });
});

describe("a storage of one's own, with runs", () => {
  conforms(async () => kept(new RunningMapStorage()));
});
