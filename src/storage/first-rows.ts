/**
 * Joins the first rows of a correlated query for each outer row. PostgreSQL has lateral joins with correlated
 * limits; SQLite has neither, so there the position in a list is compared with the limit.
 */
import type { Dialect } from "./database.ts";
import { raw, sql, type Sql } from "./sql.ts";

/** Joins the first `count` rows of a query with the one column `value`, as `first(value)`. `count` is at most `countMax`. */
export function joinFirst(dialect: Dialect, query: Sql, count: Sql, countMax: number): Sql {
  return dialect.pick({
    postgres: sql`cross join unnest(array(${query} limit ${count})) as first(value)`,
    sqlite: sql`join json_each((select json_group_array(listed.value) from (${query} limit ${countMax}) as listed)) as first
    on first.key < ${count}`,
  });
}

/** The rows of a table with a key `id`, under a condition and in an order: both over `x`. */
export interface FirstRows {
  readonly table: Sql;
  readonly columns: readonly string[];
  readonly where: Sql;
  readonly order: Sql;
}

/** Joins the first `count` of these rows, as `s` with these columns. `count` is at most `countMax`. */
export function joinRows(dialect: Dialect, rows: FirstRows, count: Sql, countMax: number): Sql {
  const { table, columns, where, order } = rows;
  const ids = sql`select x.id as value from ${table} as x where ${where} order by ${order}`;
  return dialect.pick({
    postgres: sql`cross join lateral (select ${raw(columns.map((name) => `x.${name}`).join(", "))} from ${table} as x
        where ${where} order by ${order} limit ${count}) as s`,
    sqlite: sql`${joinFirst(dialect, ids, count, countMax)} join ${table} as s on s.id = first.value`,
  });
}
