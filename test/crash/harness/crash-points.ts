/**
 * A database with crash points: it calls back before and after each durable write, and numbers these points. It wraps
 * the port that every adapter implements, so that the library contains no code for tests.
 *
 * Only writes are numbered. The number of reads, and of claims that found nothing, depends on timing. So do the writes of
 * a worker's presence and of the kinds that it knows, on which no saga depends: they are no points. Renewals depend on timing too and have numbers of
 * their own. A claim of a single statement runs in a transaction here, so that its
 * result is known before the commit.
 */
import type { Database, Session } from "../../../src/storage/database.ts";
import type { Sql } from "../../../src/storage/sql.ts";

export interface CrashPoint {
  readonly name: string;
  /** The point is inside an open transaction, which holds locks. */
  readonly locked: boolean;
}

/** Called at every point. The database waits for it, and throws what it throws. */
export type AtPoint = (point: CrashPoint) => Promise<void>;

let open = 0;

/** True if no transaction of this process is open. A process that is stopped in one holds a lock and loses no lease. */
export function hasNoOpenTransaction(): boolean {
  return open === 0;
}

export function withCrashPoints(inner: Database, atPoint: AtPoint, label: string = ""): Database {
  let writes = 0;
  let commits = 0;
  let renewals = 0;
  let statements = 0;

  /** The point's name for a statement or batch; undefined for reads. */
  const nameOf = (given: readonly Sql[]): string | undefined => {
    if (!given.some(isWrite)) return undefined;
    return given.some(isRenewal) ? `${label}renewal ${++renewals}` : `${label}write ${++writes}`;
  };
  const around = async <T>(given: readonly Sql[], work: () => Promise<T>): Promise<T> => {
    const name = nameOf(given);
    if (name === undefined) return work();
    await atPoint({ name: `${name} before`, locked: false });
    const result = await work();
    await atPoint({ name: `${name} after`, locked: false });
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
          await atPoint({ name: `${name} before`, locked: true });
        }
        return value;
      }, foreign)
      .finally(() => open--);
    if (name !== undefined) await atPoint({ name: `${name} after`, locked: false });
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
      const joined = inner.join(tx);
      const watched = (session: Session): Session => ({
        dialect: session.dialect,
        async query(statement) {
          const rows = await session.query(statement);
          if (isWrite(statement))
            await atPoint({ name: `${label}statement ${++statements} after`, locked: true });
          return rows;
        },
      });
      return { ...watched(joined), alone: (work) => joined.alone((session) => work(watched(session))) };
    },
    ...(inner.refuseInside && { refuseInside: () => inner.refuseInside?.() }),
    ...(inner.listen && { listen: (onNotice) => inner.listen?.(onNotice) ?? (() => undefined) }),
    close: () => inner.close(),
  };
}

/** A statement that begins with a common table expression may only read. */
function isWrite(statement: Sql): boolean {
  const isAny = /\b(?:insert\s+into|delete\s+from|update\s+\S+\s+(?:as\s+\w+\s+)?set)\b/i.test(statement.sql);
  return isAny && !isPresence(statement);
}

function isPresence(statement: Sql): boolean {
  return /^\s*(?:insert into|update)\s+\S*(?:workers|saga_kinds|event_handlers|saga_log_scan)\b/i.test(
    statement.sql,
  );
}

function isClaim(statement: Sql): boolean {
  return /^\s*with\s+pick_0\b/i.test(statement.sql);
}

function isRenewal(statement: Sql): boolean {
  return /^\s*update\s+\S+\s+as\s+c\s+set\s+next_attempt_at\b/i.test(statement.sql);
}

/** A claim that found nothing due returns an empty list, and wrote nothing. */
function foundNothing(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}
