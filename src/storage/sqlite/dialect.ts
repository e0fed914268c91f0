/** SQLite's words. Instants are integers: milliseconds since the epoch. */
import type { Clock } from "../clock.ts";
import type { Column, Dialect } from "../database.ts";
import { empty, literals, raw, sql, type Sql } from "../sql.ts";
import { isDuplicate, trouble } from "./trouble.ts";

export function sqliteDialect(prefix: string, clock: Clock): Dialect {
  const now = clock.virtualNowMs;
  return {
    name: "sqlite",
    table: (name) => raw(`${prefix}${name}`),
    now: now ? () => sql`${now()}` : () => raw("cast(unixepoch('subsec') * 1000 as integer)"),
    plusMs: (instant, ms) => sql`${instant} + cast(${ms} as integer)`,
    instantOf: (ms) => sql`cast(${ms} as integer)`,
    epochMs: (instant) => instant,
    gate: (column) => sql`coalesce(${column}, 0)`,
    forUpdateOf: () => empty,
    skipLocked: empty,
    rows: jsonRows,
    among: (column, values) => sql`${column} in (select value from json_each(${JSON.stringify(values)}))`,
    contains: (text, part) => sql`instr(${text}, ${part}) > 0`,
    together: (first, second) => [first, second],
    firstWord: (column, without) =>
      sql`rtrim(substr(${column}, 1, instr(${column} || ' ', ' ') - 1), ${literals([without])})`,
    notify: () => undefined,
    trouble,
    isDuplicate,
  };
}

function jsonRows(columns: readonly Column[], rows: readonly (readonly unknown[])[]): Sql {
  const fields = columns.map(({ name }, index) => `value ->> ${index} as ${name}`).join(", ");
  return sql`(select ${raw(fields)} from json_each(${JSON.stringify(rows)})) as r`;
}
