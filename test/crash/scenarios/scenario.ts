/** A scenario: a workload during which a process is killed, and the results that are allowed afterwards. */
import type { Amends, AnySaga, DatabaseOptions, SagaStatus, Worker } from "amends";
import type { AnyHandler, EventDefinition, FlowStatus, SagaDef } from "amends/events";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Database } from "../../../src/storage/database.ts";
import type { OutboxExpectations } from "../checkers/outbox-invariants.ts";
import type { World } from "../external-world/world.ts";

export interface RunContext {
  readonly amends: Amends;
  readonly worker: Worker;
  readonly database: Database;
  /** The number of entry claims that this process lost to another. */
  lost(): number;
  /** A second Amends on the same database, as in another process. */
  another(): Amends;
}

/** The parts of an Amends that handle outbox entries. */
export type OutboxParts = Pick<DatabaseOptions<unknown>, "erasure" | "calls">;

export interface Workload {
  readonly sagas?: readonly AnySaga[];
  /** An event saga; every run of it is checked. */
  readonly eventSaga?: SagaDef;
  readonly handlers?: readonly AnyHandler[];
  /** Poll interval of the process that is killed, in milliseconds. */
  readonly poll?: number;
  /** The configured parts of the Amends, in the killed process and in the recovery worker. */
  parts?(leaseMs: number): OutboxParts;
  /** Called with the Amends of the killed process, and with that of the recovery worker. */
  onAmends?(amends: Amends): void;
  /** Entries that the killed process handles at the same time. With 1, its crash points have a fixed order. */
  readonly concurrency?: number;
  /** Runs in the killed process, until the work is done or the process is killed. */
  run(context: RunContext): Promise<void>;
  /** Called with an Amends before the recovery worker starts. */
  beforeRecovery?(amends: Amends): Promise<void>;
  /** The operator's action on stalled sagas and abandoned entries. */
  operate?(amends: Amends): Promise<void>;
  /** Checks what else must hold at any moment, with the status of its saga; returns the violations. */
  holds?(status: SagaStatus | undefined): Promise<readonly string[]>;
  /** Checks what else must hold after the recovery; returns the violations. */
  check?(ended: SagaStatus | undefined): Promise<readonly string[]>;
}

export interface Scenario {
  readonly name: string;
  /** The test title: the rule ids, and the guarantee. */
  readonly title: string;
  /** The allowed end statuses of its saga. */
  readonly ends?: readonly SagaStatus[];
  /** The allowed end statuses of the runs of its event saga. */
  readonly flowEnds?: readonly FlowStatus[];
  /** What the outbox checker expects of its entries. */
  readonly outbox?: OutboxExpectations;
  /** The competitor still holds the claims when the stopped process wakes up. */
  readonly overlaps?: boolean;
  /** Lease renewals are crash points too. */
  readonly renewals?: boolean;
  /** Deadlines in real time decide the order of writes: a slow machine may miss points that were discovered. */
  readonly isTimed?: boolean;
  workload(world: World): Workload;
}

/** The id of the saga that a saga scenario runs. */
export const ID = "one";

/** A schema that accepts any input. A schema library would slow down the start of each process. */
export const anything: StandardSchemaV1<object, object> = {
  "~standard": { version: 1, vendor: "amends-test", validate: (value) => ({ value: value as object }) },
};

/** The definitions of a workload, as options of an Amends. */
export function definitionsOf({ sagas = [], eventSaga, handlers = [] }: Workload): {
  readonly sagas: readonly AnySaga[];
  readonly events: readonly EventDefinition[];
} {
  return { sagas, events: [...(eventSaga ? [eventSaga] : []), ...handlers] };
}
