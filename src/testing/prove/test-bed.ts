/**
 * The environment of one schedule: starts the saga, runs a simulated process on it, and reads it from outside. A
 * saga runs in memory; one that needs a database, because of transactional steps, application tables, signals, events,
 * children, a call that follows a stall, or because it is taken back, runs in SQLite.
 */
import type { AnySaga } from "../../sagas/define/definition.ts";
import type { SagaRecord } from "../../sagas/journal/journal.ts";
import type { VirtualClock } from "../kit/virtual-clock.ts";
import type { Mortality } from "../kit/mortality.ts";
import type { Script, ProveTell } from "./script.ts";
import { sitesOf } from "./tree.ts";

export type Found = Pick<SagaRecord, "id" | "state" | "dueAtMs" | "entries">;

export interface TestBed {
  readonly clock: VirtualClock;
  /** The process that runs the saga, or the last one if it has died. */
  readonly process: Mortality & { readonly saga: AnySaga };
  start(): Promise<void>;
  /** Sends what a step waits for to its saga. */
  tell(send: ProveTell, sagaId: string): Promise<void>;
  /** Takes the completed saga back. Returns the saga that does it. */
  takeBack(): Promise<string>;
  /** Runs the process until nothing is due. If the last one has died, a new one replaces it. */
  work(): { readonly process: Mortality; readonly done: Promise<void> };
  /** The durable state of the saga. */
  read(): Promise<Found | undefined>;
  /** The same of a child, or of a saga that takes another one back. */
  find(id: string): Promise<Found | undefined>;
  /** Why the saga is still open although nothing is due. */
  whyOpen(): Promise<string>;
  close(): Promise<void>;
}

/** Makes the saga for a process, with every call going through the rig. */
export type MakeSaga = (process: Mortality) => AnySaga;

export const NEVER_ENDS = "it did not end after many rounds";

export function needsDatabase({ prepare, tell, isReversed }: Script, saga: AnySaga): boolean {
  if (prepare !== undefined || isReversed || Object.keys(tell).length > 0 || saga.stalled) return true;
  return sitesOf(saga).some(({ step: { transaction, child, planned } }) => {
    const isSent = planned.repeat?.until !== undefined || (planned.wait && planned.wait.kind !== "sleep");
    return transaction !== undefined || child !== undefined || isSent === true;
  });
}
