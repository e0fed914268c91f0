/** The suite that a storage of one's own must pass. */
import type { SagaStorage } from "../../contract/contract.ts";
import { waitForReal, within, type ConformanceCase } from "./case.ts";
import { concurrencyCases } from "./storage-cases-concurrency.ts";
import { contextCases } from "./storage-cases-context.ts";
import { historyCases } from "./storage-cases-history.ts";
import { lifeCases } from "./storage-cases-life.ts";
import { recoveryCases } from "./storage-cases-recovery.ts";
import { runCases } from "./storage-cases-run.ts";
import type { StorageCase } from "./storage-trial.ts";

/** The options of `sagaStorageConformance`. */
export interface ConformanceOptions {
  /** False for a storage without `createRun`: the cases about runs are then left out of the list. */
  readonly hasCreateRun?: boolean;
  /** Lets time pass for the storage. Real time unless given; with a virtual clock, `(ms) => clock.advance(ms)`. */
  readonly wait?: (ms: number) => Promise<void>;
  /** How long a case may take before it counts as hanging. Default: 20s. */
  readonly limitMs?: number;
}

/** Each case makes a storage of its own, and closes it at its end. */
export type MakeStorage = () => Promise<{ readonly storage: SagaStorage; close(): Promise<void> }>;

/** The cases that a storage of your own must pass. */
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
    throw new Error(
      "The storage has createRun: leave `hasCreateRun: false` out, so that its runs are looked at.",
    );
  },
};
