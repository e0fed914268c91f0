/**
 * Several statements in one transaction. They run in the order in which they are listed, and the rows of each come back
 * under its name. A statement that is undefined is left out and has no rows.
 */
import type { Database, Row, Session } from "./database.ts";
import type { Sql } from "./sql.ts";

type Named<Name extends string> = Readonly<Record<Name, Sql | undefined>>;
type RowsByName<Name extends string> = Readonly<Record<Name, readonly Row[]>>;

/** Runs them in a new transaction, in one round trip. */
export function runTogether<Name extends string>(
  db: Pick<Database, "batch">,
  statements: Named<Name>,
): Promise<RowsByName<Name>> {
  return byName(statements, (all) => db.batch(all));
}

/** Runs them in an open transaction. All of them are sent before the first is answered. */
export function runInside<Name extends string>(
  session: Pick<Session, "query">,
  statements: Named<Name>,
): Promise<RowsByName<Name>> {
  return byName(statements, (all) => Promise.all(all.map((statement) => session.query(statement))));
}

async function byName<Name extends string>(
  statements: Named<Name>,
  run: (all: readonly Sql[]) => Promise<readonly (readonly Row[])[]>,
): Promise<RowsByName<Name>> {
  const rows: Record<string, readonly Row[]> = {};
  const listed: string[] = [];
  const all: Sql[] = [];
  for (const [name, statement] of Object.entries<Sql | undefined>(statements)) {
    rows[name] = [];
    if (statement === undefined) continue;
    listed.push(name);
    all.push(statement);
  }
  const answers = all.length > 0 ? await run(all) : [];
  listed.forEach((name, index) => (rows[name] = answers[index] ?? []));
  return rows as RowsByName<Name>;
}
