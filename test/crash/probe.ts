/**
 * A database that says when it is about to make something durable and when it has: the numbered points at which a
 * process is stopped. It wraps the port that every adapter implements, so the library itself knows nothing of it.
 *
 * Only what changes something is numbered: reads, and claims that found nothing, come as often as the clock wants.
 * Renewals do too, and are numbered apart, for whoever asks. A claim of a single statement is made in a transaction
 * here, so that it is known before its commit whether it found something.
 */
import type { Database } from "../../src/storage/database.ts";
import type { Sql } from "../../src/storage/sql.ts";

export interface Point {
  readonly name: string;
  /** Inside an open transaction, with whatever it has locked. */
  readonly locked: boolean;
}

/** Told at every point; whatever it waits for, the database waits for. What it throws is thrown by the database. */
export type Reach = (point: Point) => Promise<void>;

let open = 0;

/** No transaction of this process is open: one that sleeps in it would not lose a lease but hold a lock. */
export function isQuiet(): boolean {
  return open === 0;
}

export function probe(inner: Database, reach: Reach, label: string = ""): Database {
  let writes = 0;
  let commits = 0;
  let renewals = 0;
  let statements = 0;

  /** What a single statement or batch is called, or undefined where it changes nothing. */
  const nameOf = (given: readonly Sql[]): string | undefined => {
    if (!given.some(isWrite)) return undefined;
    return given.some(isRenewal) ? `${label}renewal ${++renewals}` : `${label}write ${++writes}`;
  };
  const around = async <T>(given: readonly Sql[], work: () => Promise<T>): Promise<T> => {
    const name = nameOf(given);
    if (name === undefined) return work();
    await reach({ name: `${name} before`, locked: false });
    const result = await work();
    await reach({ name: `${name} after`, locked: false });
    return result;
  };

  const transaction: Database["transaction"] = async (work, foreign) => {
    let name: string | undefined;
    open++;
    const result = await inner
      .transaction(async (session, tx) => {
        const value = await work(session, tx);
        if (!foundNothing(value)) {
          name = `${label}commit ${++commits}`;
          await reach({ name: `${name} before`, locked: true });
        }
        return value;
      }, foreign)
      .finally(() => open--);
    if (name !== undefined) await reach({ name: `${name} after`, locked: false });
    return result;
  };

  return {
    dialect: inner.dialect,
    clock: inner.clock,
    open: () => inner.open(),
    query: (statement) =>
      isClaim(statement)
        ? transaction((session) => session.query(statement))
        : around([statement], () => inner.query(statement)),
    batch: (given) => around(given, () => inner.batch(given)),
    transaction,
    join(tx) {
      const session = inner.join(tx);
      return {
        dialect: session.dialect,
        async query(statement) {
          const rows = await session.query(statement);
          if (isWrite(statement))
            await reach({ name: `${label}statement ${++statements} after`, locked: true });
          return rows;
        },
      };
    },
    ...(inner.refuseInside && { refuseInside: () => inner.refuseInside?.() }),
    ...(inner.listen && { listen: (onNotice) => inner.listen?.(onNotice) ?? (() => undefined) }),
    close: () => inner.close(),
  };
}

function isWrite(statement: Sql): boolean {
  return /^\s*(?:insert|update|delete|with)\b/i.test(statement.sql);
}

function isClaim(statement: Sql): boolean {
  return /^\s*with\s+pick_0\b/i.test(statement.sql);
}

function isRenewal(statement: Sql): boolean {
  return /^\s*update\s+\S+\s+as\s+c\s+set\s+next_attempt_at\b/i.test(statement.sql);
}

/** A claim that found nothing due returns an empty list and has written nothing. */
function foundNothing(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}
