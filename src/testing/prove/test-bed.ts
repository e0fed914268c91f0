/**
 * The environment of one schedule: starts the saga, runs a simulated process on it, and reads it from outside. A
 * saga runs in memory; one that needs a database, because of transactional steps, application tables, signals or
 * events, runs in SQLite.
 */
import type { AnySaga } from "../../sagas/define/definition.ts";
import type { SagaRecord } from "../../sagas/journal/journal.ts";
import type { VirtualClock } from "../kit/virtual-clock.ts";
import type { Mortality } from "../kit/mortality.ts";
import type { Script } from "./script.ts";

export interface TestBed {
  readonly clock: VirtualClock;
  /** The process that runs the saga, or the last one if it has died. */
  readonly process: Mortality & { readonly saga: AnySaga };
  /**
   * Starts the saga, and sends the signals and events that its steps wait for, except those that the schedule
   * leaves out.
   */
  start(isUntold: (step: string) => boolean): Promise<void>;
  /** Runs the process until nothing is due. If the last one has died, a new one replaces it. */
  work(): { readonly process: Mortality; readonly done: Promise<void> };
  /** The durable state. */
  read(): Promise<Pick<SagaRecord, "state" | "dueAtMs" | "entries"> | undefined>;
  /** Why the saga is still open although nothing is due. */
  whyOpen(): Promise<string>;
  close(): Promise<void>;
}

/** Makes the saga for a process, with every call going through the rig. */
export type MakeSaga = (process: Mortality) => AnySaga;

export const NEVER_ENDS = "it did not end after many rounds";

export function needsDatabase({ prepare, tell }: Script, { steps }: AnySaga): boolean {
  if (prepare !== undefined || Object.keys(tell).length > 0) return true;
  return steps.some(({ transaction, planned }) => {
    return transaction !== undefined || (planned.wait !== undefined && planned.wait.kind !== "sleep");
  });
}
