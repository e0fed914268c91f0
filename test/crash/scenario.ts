/** A piece of real work that a process is killed in, and what must hold however that goes. */
import type { Amends, AnySaga, SagaStatus, Worker } from "amends";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Database } from "../../src/storage/database.ts";
import type { World } from "./world.ts";

export interface Stage {
  readonly amends: Amends;
  readonly worker: Worker;
  readonly database: Database;
  /** Another Amends on the same database, as another process has it. */
  another(): Amends;
}

export interface Play {
  readonly sagas: readonly AnySaga[];
  /** What the process does until it has finished or is killed. */
  run(stage: Stage): Promise<void>;
  /** What a person does about sagas that have stalled. */
  operate?(amends: Amends): Promise<void>;
  /** What else must hold in the end: what is wrong, in words. */
  check?(ended: SagaStatus | undefined): Promise<readonly string[]>;
}

export interface Scenario {
  readonly name: string;
  /** The rules that it shows, and what it shows of them. */
  readonly title: string;
  /** How its saga may end. */
  readonly ends: readonly SagaStatus[];
  /** Number renewals of leases too. */
  readonly renewals?: boolean;
  play(world: World): Play;
}

/** Every scenario runs one saga, under this id. */
export const ID = "one";

/** Takes any input as it is: a schema library would only make the processes start more slowly. */
export const anything: StandardSchemaV1<object, object> = {
  "~standard": { version: 1, vendor: "amends-test", validate: (value) => ({ value: value as object }) },
};
