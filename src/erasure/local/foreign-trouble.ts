/**
 * A database error about the application's rows may contain personal data ("Key (email)=(…) already exists"), so it
 * is not passed on. The error that replaces it names the table, the constraint and the database's code, and says
 * whether a retry helps.
 */
import { AmendsError } from "../../core/errors.ts";
import type { Dialect, Row } from "../../storage/database.ts";
import type { Work } from "../../storage/joins/work.ts";
import type { Sql } from "../../storage/sql.ts";

/** Runs a statement on an application table. */
export function* ask(dialect: Dialect, statement: Sql, table: string): Work<readonly Row[]> {
  try {
    return yield statement;
  } catch (error) {
    throw withoutData(dialect, error, table);
  }
}

/** Runs several statements and returns the rows of the last one. */
export function* askAll(dialect: Dialect, statements: readonly Sql[], table: string): Work<readonly Row[]> {
  let rows: readonly Row[] = [];
  for (const statement of statements) rows = yield* ask(dialect, statement, table);
  return rows;
}

function withoutData(dialect: Dialect, error: unknown, table: string): AmendsError {
  const { kind, code } = dialect.trouble(error);
  const { code: given, errcode, constraint } = error as Record<"code" | "errcode" | "constraint", unknown>;
  const number = typeof errcode === "number" ? String(errcode) : String(given);
  const cause = Object.assign(
    new Error("The database's own message is left out: it may hold personal data."),
    {
      code: given,
      ...(typeof errcode === "number" && { errcode }),
    },
  );
  const rule = typeof constraint === "string" ? `, constraint ${constraint}` : "";
  const advice =
    kind === "permanent"
      ? "Nothing was written. A constraint or a trigger of the table objects: see its definition."
      : "Nothing was written. Roll the transaction back and try it again.";
  return new AmendsError(
    kind === "permanent" ? "DATABASE_REFUSED" : code,
    `The database refused a statement on ${table} (${number}${rule}). ${advice}`,
    { table, databaseCode: number, ...(rule && { constraint }) },
    { cause },
  );
}
