/** The columns of a saga's line in a list. */
import type { Dialect } from "../../storage/database.ts";
import { raw, sql, type Sql } from "../../storage/sql.ts";
import { ARCHIVED, LINE } from "./summary.ts";

const NAMES: readonly string[] = Object.values(LINE.shape).map(({ name }) => name);

/** The columns as they are, for a query inside of the one that lists. */
export function plainColumns(alias: string): Sql {
  return raw(NAMES.map((name) => `${alias}.${name}`).join(", "));
}

export function lineColumns(dialect: Dialect, alias: string): Sql {
  const reversal = sql`(select x.id from ${dialect.table("saga_executions")} as x where x.reverses = ${raw(`${alias}.id`)})`;
  return sql`${LINE.columns(dialect, alias)}, ${dialect.epochMs(dialect.now())} as now_at, ${reversal} as reversed_by`;
}

export function archivedColumns(dialect: Dialect, alias: string): Sql {
  return ARCHIVED.columns(dialect, alias);
}
