/** A piece of real work that a process is killed in, and what must hold however that goes. */
import type { Amends, AnySaga, DatabaseOptions, SagaStatus, Worker } from "amends";
import type { AnyHandler, EventDefinition, FlowStatus, SagaDef } from "amends/events";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Database } from "../../src/storage/database.ts";
import type { OutboxTerms } from "../support/outbox-invariants.ts";
import type { World } from "./world.ts";

export interface Stage {
  readonly amends: Amends;
  readonly worker: Worker;
  readonly database: Database;
  /** How many claims of entries this process has lost to another. */
  lost(): number;
  /** Another Amends on the same database, as another process has it. */
  another(): Amends;
}

/** The parts of an Amends that work on entries of the outbox. */
export type OutboxParts = Pick<DatabaseOptions<unknown>, "erasure" | "calls">;

export interface Play {
  readonly sagas?: readonly AnySaga[];
  /** A saga over events, of which every run is checked. */
  readonly eventSaga?: SagaDef;
  readonly handlers?: readonly AnyHandler[];
  /** How often the process that is killed looks for work. */
  readonly poll?: number;
  /** The parts of the Amends, for whichever process that works on this scenario. */
  parts?(leaseMs: number): OutboxParts;
  /** Gets the Amends of the process that works on this scenario. */
  meet?(amends: Amends): void;
  /** How many entries the process that is killed works on at once: with one, its points come in one order. */
  readonly concurrency?: number;
  /** What the process does until it has finished or is killed. */
  run(stage: Stage): Promise<void>;
  /** What a person does about sagas that have stalled and entries that were abandoned. */
  operate?(amends: Amends): Promise<void>;
  /** What else must hold in the end: what is wrong, in words. */
  check?(ended: SagaStatus | undefined): Promise<readonly string[]>;
}

export interface Scenario {
  readonly name: string;
  /** The rules that it shows, and what it shows of them. */
  readonly title: string;
  /** How its saga may end, where it has one. */
  readonly ends?: readonly SagaStatus[];
  /** How runs of its saga over events may end, where it has one. */
  readonly flowEnds?: readonly FlowStatus[];
  /** What its entries must keep to. */
  readonly outbox?: OutboxTerms;
  /** Whoever takes the work over is still at it when the process that slept wakes up. */
  readonly overlaps?: boolean;
  /** Number renewals of leases too. */
  readonly renewals?: boolean;
  /** Deadlines in real time decide who writes when: a slow machine has other points than those that were learned. */
  readonly isTimed?: boolean;
  play(world: World): Play;
}

/** A scenario of sagas runs one, under this id. */
export const ID = "one";

/** Takes any input as it is: a schema library would only make the processes start more slowly. */
export const anything: StandardSchemaV1<object, object> = {
  "~standard": { version: 1, vendor: "amends-test", validate: (value) => ({ value: value as object }) },
};

/** What an Amends is told of whoever plays in it. */
export function rolesOf({ sagas = [], eventSaga, handlers = [] }: Play): {
  readonly sagas: readonly AnySaga[];
  readonly events: readonly EventDefinition[];
} {
  return { sagas, events: [...(eventSaga ? [eventSaga] : []), ...handlers] };
}
