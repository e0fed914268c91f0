import { test } from "node:test";
import { sagaStorageConformance } from "amends/testing";
import { MapSagaStorage } from "./map-storage.ts";

const cases = sagaStorageConformance(
  async () => ({ storage: new MapSagaStorage(), close: async () => undefined }),
  { hasCreateRun: false },
);
for (const { name, run } of cases) void test(name, run);
