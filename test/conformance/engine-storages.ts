/** The storages on which the engine is shown to run: ours behind the contract, and two that users may have written. */
import { Amends, type Worker } from "amends";
import { SqlSagaStorage, type SagaStorage, type StorageOptions, MemorySagaStorage } from "amends/storage";
import type { VirtualClock } from "amends/testing";
import { afterEach, beforeEach, describe } from "vitest";
import { MapSagaStorage } from "../../examples/own-storage/map-storage.ts";
import { onEachDatabase } from "../support/databases.ts";
import { RunningMapStorage } from "./running-map-storage.ts";
import { VirtualTime } from "./virtual-storage.ts";

export interface Storages {
  /** The storage of this test: the same one however often it is asked for. */
  storage(): Promise<SagaStorage>;
  /** An Amends with a worker. Both end with the test. */
  process(options: StorageOptions): Promise<Amends>;
  /** An Amends in the same time. */
  amends(options: StorageOptions): Amends;
  /** Time passes although nothing waits for it. */
  pass(ms: number): void;
}

const OURS: Readonly<Record<string, (clock: VirtualClock) => SagaStorage>> = {
  memory: (clock) => new MemorySagaStorage({ clock }),
  "a storage of one's own, without runs": (clock) => new MapSagaStorage(clock.virtualNowMs),
  "a storage of one's own, with runs": (clock) => new RunningMapStorage(clock.virtualNowMs),
};

export function onEachStorage(tests: (storages: Storages) => void): void {
  onEachDatabase((database) =>
    tests(using(async (clock) => new SqlSagaStorage(await database.open({ clock })))),
  );
  describe.each(Object.entries(OURS))("%s", (_, make) => {
    tests(using(async (clock) => make(clock)));
  });
}

function using(make: (clock: VirtualClock) => Promise<SagaStorage>): Storages {
  let time = new VirtualTime();
  let made: Promise<SagaStorage> | undefined;
  let workers: Worker[] = [];
  beforeEach(() => {
    time = new VirtualTime();
  });
  afterEach(async () => {
    await stopAll(workers);
    await time.end();
    workers = [];
    made = undefined;
  });
  const amends: Storages["amends"] = (options) => new Amends({ lease: "1s", clock: time.clock, ...options });
  return {
    storage: () => (made ??= make(time.clock).then((storage) => time.watched(storage))),
    amends,
    pass: (ms) => time.clock.jump(ms),
    async process(options) {
      const process = amends(options);
      workers.push(await startedWorker(process, "100ms"));
      return process;
    },
  };
}

/** Starts an Amends with a worker, which ends with the test. In real time. */
export function processes(): Storages["process"] {
  let workers: Worker[] = [];
  afterEach(async () => {
    await stopAll(workers);
    workers = [];
  });
  return async (options) => {
    // Long enough that a busy machine takes nobody for dead, short enough to wait for.
    const amends = new Amends({ lease: "1s", ...options });
    workers.push(await startedWorker(amends, "20ms"));
    return amends;
  };
}

async function startedWorker(amends: Amends, poll: "20ms" | "100ms"): Promise<Worker> {
  const worker = amends.worker({ poll });
  await worker.start();
  return worker;
}

async function stopAll(workers: readonly Worker[]): Promise<void> {
  await Promise.all(workers.map((worker) => worker.stop({ deadline: "100ms" }).catch(() => undefined)));
}

/** What the storage itself shows of a saga's history. */
export async function historyIn(storage: SagaStorage, id: string): Promise<readonly string[]> {
  return (await storage.getStepHistory(id)).map(
    ({ stepName, action, status }) => `${stepName} ${action} ${status}`,
  );
}
