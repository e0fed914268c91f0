/** The suite that a custom storage must pass. */
import type { SagaStorage } from "../../contract/contract.ts";
import { waitForReal, within, type ConformanceCase } from "./case.ts";
import { concurrencyCases } from "./storage-cases-concurrency.ts";
import { contextCases } from "./storage-cases-context.ts";
import { historyCases } from "./storage-cases-history.ts";
import { lifeCases } from "./storage-cases-life.ts";
import { recoveryCases } from "./storage-cases-recovery.ts";
import { runCases } from "./storage-cases-run.ts";
import type { StorageCase } from "./storage-trial.ts";

/** What the storage under test can do. */
export interface ConformanceOptions {
  /** False for a storage without `createRun`: the cases about runs are then left out. Default: true. */
  readonly hasCreateRun?: boolean;
  /** Lets time pass for the storage. With a virtual clock, pass `(ms) => clock.advance(ms)`. Default: real time. */
  readonly wait?: (ms: number) => Promise<void>;
  /** The time limit of one case in milliseconds. Default: 20000. */
  readonly limitMs?: number;
}

/** Makes a storage. Each case makes its own and closes it at its end. */
export type MakeStorage = () => Promise<{ readonly storage: SagaStorage; close(): Promise<void> }>;

/** Returns the cases that a custom storage must pass. Run each with your test runner. */
export function sagaStorageConformance(
  makeStorage: MakeStorage,
  options: ConformanceOptions = {},
): readonly ConformanceCase[] {
  const { hasCreateRun = true, wait = waitForReal, limitMs = 20_000 } = options;
  const cases: readonly StorageCase[] = [
    ...lifeCases,
    ...contextCases,
    ...historyCases,
    ...recoveryCases,
    ...concurrencyCases,
    ...(hasCreateRun ? runCases : [noRuns]),
  ];
  return cases.map(({ name, show }) => ({
    name,
    async run() {
      const made = await makeStorage();
      try {
        await within("storage", limitMs, show({ storage: made.storage, wait }));
      } finally {
        await made.close();
      }
    },
  }));
}

const noRuns: StorageCase = {
  name: "[S-04] a storage that is said to have no createRun has none",
  async show({ storage }) {
    if (!storage.createRun) return;
    throw new Error("The storage has createRun: remove `hasCreateRun: false`, so that its runs are tested.");
  },
};
