/**
 * A simulated process that can be killed, with its own Amends on a database. When it dies, its open transaction is
 * rolled back, as a database does for a dead process.
 */
import type { AnySaga } from "../../sagas/define/definition.ts";
import type { Clock } from "../../storage/clock.ts";
import type { Database, Session } from "../../storage/database.ts";
import type { SqliteHandle } from "../../storage/sqlite/driver.ts";
import { Amends } from "../../operate/amends.ts";
import type { Worker } from "../../operate/worker.ts";
import type { VirtualClock } from "../kit/virtual-clock.ts";
import { Mortality } from "./mortality.ts";

export interface Surroundings {
  readonly database: Database<SqliteHandle>;
  readonly clock: VirtualClock;
  readonly leaseMs: number;
}

export class MortalProcess extends Mortality {
  readonly amends: Amends<SqliteHandle>;
  readonly saga: AnySaga;
  readonly worker: Worker;

  constructor(around: Surroundings, makeSaga: (process: MortalProcess) => AnySaga) {
    super();
    this.saga = makeSaga(this);
    const database = this.#database(around.database, this.clock(around.clock));
    const lease = around.leaseMs;
    this.amends = new Amends({ database, sagas: [this.saga], lease, webhooks: { lease } });
    this.worker = this.amends.worker();
  }

  #database(real: Database<SqliteHandle>, clock: Clock): Database<SqliteHandle> {
    const { dialect } = real;
    const sessionOf = (session: Session): Session => ({
      dialect,
      query: (statement) => this.whileAlive(() => session.query(statement)),
    });
    return {
      dialect,
      clock,
      open: () => this.whileAlive(() => real.open()),
      query: (statement) => this.whileAlive(() => real.query(statement)),
      batch: (statements) => this.whileAlive(() => real.batch(statements), true),
      transaction: (work, foreign = false) =>
        this.whileAlive(
          () =>
            real.transaction(
              (session, tx) => Promise.race([work(sessionOf(session), tx), this.death]),
              foreign,
            ),
          foreign,
        ),
      join: (tx) => real.join(tx),
      refuseInside: () => real.refuseInside?.(),
      // The database outlives its processes; the proof closes it.
      close: async () => undefined,
    };
  }
}
