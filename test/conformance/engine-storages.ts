/** The storages on which the engine is shown to run: ours behind the contract, and two that users may have written. */
import { Amends, type Worker } from "amends";
import { SqlSagaStorage, type SagaStorage, type StorageOptions, MemorySagaStorage } from "amends/storage";
import { afterEach, describe } from "vitest";
import { MapSagaStorage } from "../../examples/own-storage/map-storage.ts";
import { onEachDatabase } from "../support/databases.ts";
import { RunningMapStorage } from "./running-map-storage.ts";

export interface Storages {
  /** The storage of this test: the same one however often it is asked for. */
  storage(): Promise<SagaStorage>;
  /** An Amends with a worker. Both end with the test. */
  process(options: StorageOptions): Promise<Amends>;
}

const OURS: Readonly<Record<string, () => SagaStorage>> = {
  memory: () => new MemorySagaStorage(),
  "a storage of one's own, without runs": () => new MapSagaStorage(),
  "a storage of one's own, with runs": () => new RunningMapStorage(),
};

export function onEachStorage(tests: (storages: Storages) => void): void {
  onEachDatabase((database) => tests(using(async () => new SqlSagaStorage(await database.open()))));
  describe.each(Object.entries(OURS))("%s", (_, make) => {
    tests(using(async () => make()));
  });
}

function using(make: () => Promise<SagaStorage>): Storages {
  let made: Promise<SagaStorage> | undefined;
  const process = processes();
  afterEach(() => {
    made = undefined;
  });
  return { storage: () => (made ??= make()), process };
}

/** Starts an Amends with a worker, which ends with the test. */
export function processes(): Storages["process"] {
  let workers: Worker[] = [];
  afterEach(async () => {
    await Promise.all(workers.map((worker) => worker.stop({ deadline: "100ms" }).catch(() => undefined)));
    workers = [];
  });
  return async (options) => {
    // Long enough that a busy machine takes nobody for dead, short enough to wait for.
    const amends = new Amends({ lease: "1s", ...options });
    const worker = amends.worker({ poll: "20ms" });
    workers.push(worker);
    await worker.start();
    return amends;
  };
}

/** What the storage itself shows of a saga's history. */
export async function historyIn(storage: SagaStorage, id: string): Promise<readonly string[]> {
  return (await storage.getStepHistory(id)).map(
    ({ stepName, action, status }) => `${stepName} ${action} ${status}`,
  );
}
