import { SqlSagaStorage, type SagaStorage, MemorySagaStorage } from "amends/storage";
import {
  sagaStorageConformance,
  virtualClock,
  type ConformanceOptions,
  type MakeStorage,
} from "amends/testing";
import { describe, expect, it } from "vitest";
import { MapSagaStorage } from "../../examples/own-storage/map-storage.ts";
import { onEachDatabase } from "../support/databases.ts";
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

const clock = virtualClock();
const inVirtualTime: ConformanceOptions = { wait: (ms) => clock.advance(ms) };

onEachDatabase((database) => {
  conforms(async () => kept(new SqlSagaStorage(await database.open({ clock }))), inVirtualTime);
});

describe("memory", () => {
  conforms(async () => kept(new MemorySagaStorage({ clock })), inVirtualTime);
});

describe("a storage of one's own, without runs", () => {
  const make = async (): ReturnType<MakeStorage> => kept(new MapSagaStorage(clock.virtualNowMs));
  conforms(make, { ...inVirtualTime, hasCreateRun: false });
});

describe("a storage of one's own, with runs", () => {
  conforms(async () => kept(new RunningMapStorage(clock.virtualNowMs)), inVirtualTime);
});
