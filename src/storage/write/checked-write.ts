/**
 * One write in two forms. The *optimistic* form locks and reads nothing beforehand, and the database refuses the
 * whole write if a single expectation fails. The *checked* form locks the rows first and answers for each item.
 * Conflicts are rare, so the optimistic form is tried first where a failed statement does no harm: in Amends' own
 * transaction, never in a caller's.
 *
 * Both forms may run again after a commit whose answer was lost (K-12). So `findWritten` looks up items that the
 * checked form did not write: an earlier commit with a lost answer may have written them. An optimistic repeat
 * conflicts with its own rows, is refused, and continues in the same way.
 *
 * A refusal is an error of the function `refuse` in Amends' schema (PostgreSQL), or a duplicate of a key that the
 * write names. Any other error, including a duplicate of another key, is rethrown.
 */
import type { Database, Dialect, Session } from "../database.ts";
import { persist, type RetryLimits } from "../retry.ts";

export type WriteMode = "optimistic" | "checked";

/** A unique key by which the database refuses an optimistic write. */
export interface UniqueKey {
  readonly table: string;
  /** Its name on PostgreSQL. */
  readonly constraint: string;
  /** Its columns, by which SQLite names it. */
  readonly columns: readonly string[];
}

export interface CheckedWrite<Item, Answer> {
  readonly items: readonly Item[];
  /** Undefined: checked from the start. */
  readonly optimistic?: (() => Promise<readonly Answer[]>) | undefined;
  /** The keys that only an unexpected row can violate. */
  readonly keys?: readonly UniqueKey[];
  /** Answers in the order of the items; undefined for one that it did not write. */
  readonly checked: () => Promise<readonly (Answer | undefined)[]>;
  /** The same for items that an earlier commit with a lost answer may have written. */
  readonly findWritten: (missing: readonly Item[]) => Promise<readonly (Answer | undefined)[]>;
  /** The answer for the others. */
  readonly lost: Answer;
}

export async function checkedWrite<Item, Answer>(
  dialect: Dialect,
  write: CheckedWrite<Item, Answer>,
): Promise<readonly Answer[]> {
  const { items, optimistic, keys = [], checked, findWritten, lost } = write;
  if (optimistic) {
    try {
      return await optimistic();
    } catch (error) {
      if (!isRefusal(dialect, error, keys)) throw error;
    }
  }
  const answers = await checked();
  const missing = items.filter((_, index) => answers[index] === undefined);
  const before = missing.length === 0 ? [] : await findWritten(missing);
  let next = 0;
  return items.map((_, index) => answers[index] ?? before[next++] ?? lost);
}

/** True if the database refused an optimistic write, by `refuse` or by one of these keys. */
export function isRefusal(dialect: Dialect, error: unknown, keys: readonly UniqueKey[] = []): boolean {
  const violation = dialect.violation(error);
  if (violation?.kind !== "unique") return violation?.kind === "refused";
  const { table, constraint, columns } = violation;
  return keys.some(
    (key) =>
      key.table === table &&
      (constraint === undefined ? String(key.columns) === String(columns) : key.constraint === constraint),
  );
}

export interface WriteOnce<Answer> {
  /** The write, in its own transaction. */
  readonly write: (session: Session) => Promise<Answer>;
  /** Runs before every repeat: returns the answer if an earlier commit with a lost answer took effect. */
  readonly findWritten: (session: Session) => Promise<Answer | undefined>;
}

/** A transaction that takes effect once, even if answers to its commits are lost. */
export async function writeOnce<Answer>(
  db: Pick<Database, "dialect" | "clock" | "callMs" | "transaction">,
  { write, findWritten }: WriteOnce<Answer>,
  retryLimits?: RetryLimits,
): Promise<Answer> {
  let isSent = false;
  const attempt = async (session: Session): Promise<Answer> => {
    const before = isSent ? await findWritten(session) : undefined;
    if (before !== undefined) return before;
    isSent = true;
    return write(session);
  };
  return persist(db, () => db.transaction(attempt), retryLimits);
}
