/**
 * A simulated process that can be killed, with its own Amends on a database. When it dies, its open transaction is
 * rolled back, as a database does for a dead process.
 */
import type { AnySaga } from "../../sagas/define/definition.ts";
import type { Middleware } from "../../sagas/engine/call.ts";
import type { Database } from "../../storage/database.ts";
import type { SqliteHandle } from "../../storage/sqlite/driver.ts";
import { Amends } from "../../operate/amends.ts";
import type { Worker } from "../../operate/worker.ts";
import type { VirtualClock } from "../kit/virtual-clock.ts";
import { mortalDatabase } from "../kit/mortal-database.ts";
import { Mortality } from "../kit/mortality.ts";
import { sagasOf } from "./tree.ts";

export interface Surroundings {
  readonly database: Database<SqliteHandle>;
  readonly clock: VirtualClock;
  readonly leaseMs: number;
}

export type MakeMiddleware = (process: MortalProcess) => Middleware;

export class MortalProcess extends Mortality {
  readonly amends: Amends<SqliteHandle>;
  readonly saga: AnySaga;
  readonly worker: Worker;

  constructor(
    around: Surroundings,
    makeSaga: (process: MortalProcess) => AnySaga,
    makeMiddleware?: MakeMiddleware,
  ) {
    super();
    this.saga = makeSaga(this);
    const database = mortalDatabase(this, around.database, around.clock);
    const lease = around.leaseMs;
    this.amends = new Amends({
      database,
      sagas: sagasOf(this.saga),
      middleware: makeMiddleware ? [makeMiddleware(this)] : [],
      lease,
      webhooks: { lease },
    });
    this.worker = this.amends.worker();
  }
}
