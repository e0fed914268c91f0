/** A database whose commits are counted, and can be held back. It is the real one in everything else. */
import type { Database } from "../../../src/storage/database.ts";
import { gate, type Gate } from "./gate.ts";

export interface Watched {
  readonly database: Database;
  /** How many transactions were committed since the last look. */
  commits(): number;
  /** The next commit waits at the returned gate, before anything of it is sent. */
  holdNext(): Gate;
}

export function watched(real: Database): Watched {
  let count = 0;
  let held: Gate | undefined;
  const commit = async <T>(work: () => Promise<T>): Promise<T> => {
    const waiting = held;
    held = undefined;
    await waiting?.pass();
    const done = await work();
    count++;
    return done;
  };
  const database: Database = {
    dialect: real.dialect,
    clock: real.clock,
    open: () => real.open(),
    query: (statement) => real.query(statement),
    batch: (statements) => commit(() => real.batch(statements)),
    transaction: (work) => commit(() => real.transaction(work)),
    join: (tx) => real.join(tx),
    refuseInside: () => real.refuseInside?.(),
    close: () => real.close(),
  };
  return {
    database,
    commits() {
      const since = count;
      count = 0;
      return since;
    },
    holdNext: () => (held = gate()),
  };
}
