/**
 * Where one schedule is played: starts the saga, has a process work on it, and reads it from outside the processes that live
 * and die. A saga runs in memory; one that needs a database, because of transactional steps, tables of the user's own or
 * what it is told, runs in SQLite.
 */
import type { AnySaga } from "../../sagas/define/definition.ts";
import type { SagaRecord } from "../../sagas/journal/journal.ts";
import type { VirtualClock } from "../kit/virtual-clock.ts";
import type { Mortality } from "./mortality.ts";
import type { Script } from "./script.ts";

export interface TestBed {
  readonly clock: VirtualClock;
  /** The process that works on the saga, or the last one, where it has died. */
  readonly process: Mortality & { readonly saga: AnySaga };
  /** Starts the saga, and sends what its waiting steps wait for, except to those that are to be told nothing. */
  start(isUntold: (step: string) => boolean): Promise<void>;
  /** Has the process work until nothing is due. If the last one has died, another one takes its place. */
  work(): { readonly process: Mortality; readonly done: Promise<void> };
  /** What is durable. */
  read(): Promise<Pick<SagaRecord, "state" | "dueAtMs" | "entries"> | undefined>;
  /** Why the saga is still open although nothing is due. */
  whyOpen(): Promise<string>;
  close(): Promise<void>;
}

/** Makes the saga for a process, with every call going through the rig. */
export type MakeSaga = (process: Mortality) => AnySaga;

export const NEVER_ENDS = "it was looked at again and again, and did not end";

export function needsDatabase({ prepare, tell }: Script, { steps }: AnySaga): boolean {
  if (prepare !== undefined || Object.keys(tell).length > 0) return true;
  return steps.some(({ transaction, planned }) => {
    return transaction !== undefined || (planned.wait !== undefined && planned.wait.kind !== "sleep");
  });
}
