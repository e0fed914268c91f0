/** The database as a process sees it that can be killed: once it is dead, it gets no answers and writes nothing. */
import type { Database, Session } from "../../storage/database.ts";
import type { VirtualClock } from "./virtual-clock.ts";
import type { Mortality } from "./mortality.ts";

export function mortalDatabase<Tx>(
  process: Mortality,
  real: Database<Tx>,
  clock: VirtualClock,
): Database<Tx> {
  const { dialect } = real;
  const sessionOf = (session: Session): Session => ({
    dialect: session.dialect,
    query: (statement) => process.whileAlive(() => session.query(statement)),
  });
  return {
    dialect,
    client: real.client,
    clock: process.clock(clock),
    open: () => process.whileAlive(() => real.open()),
    query: (statement) => process.whileAlive(() => real.query(statement)),
    batch: (statements) => process.whileAlive(() => real.batch(statements), true),
    transaction: (work, foreign = false) =>
      process.whileAlive(
        () =>
          real.transaction(
            (session, tx) => Promise.race([work(sessionOf(session), tx), process.death]),
            foreign,
          ),
        foreign,
      ),
    join: (tx) => real.join(tx),
    refuseInside: () => real.refuseInside?.(),
    // The database outlives its processes; its owner closes it.
    close: async () => undefined,
  };
}
