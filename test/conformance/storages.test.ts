import { SqlSagaStorage, type SagaStorage, MemorySagaStorage } from "amends/storage";
import {
  sagaStorageConformance,
  virtualClock,
  type ConformanceOptions,
  type MakeStorage,
} from "amends/testing";
import { describe, expect, it } from "vitest";
import { MapSagaStorage } from "../../examples/own-storage/map-storage.ts";
import { onDatabase } from "../support/databases.ts";
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
  const make: MakeStorage = async () => kept(new SqlSagaStorage(await database.open({ clock })));
  conforms(make, { wait: (ms) => clock.advance(ms) });
});

onDatabase("postgres", (database) => {
  conforms(async () => kept(new SqlSagaStorage(await database.open())));
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
