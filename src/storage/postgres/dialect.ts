/** The SQL fragments of PostgreSQL. */
import type { Clock } from "../clock.ts";
import type { Dialect } from "../database.ts";
import { raw, sql } from "../sql.ts";
import { arrayOf } from "./array.ts";
import { unnest } from "./rows.ts";
import { trouble, violation } from "./trouble.ts";

export const CHANNEL = "amends";

export function postgresDialect(schema: string, clock: Clock, notices: boolean): Dialect {
  const now = clock.virtualNowMs;
  return {
    name: "postgres",
    pick: ({ postgres }) => postgres,
    table: (name) => raw(`${schema}.${name}`),
    now: now ? () => sql`to_timestamp(${now()}::float8 / 1000)` : () => raw("statement_timestamp()"),
    plusMs: (instant, ms) => sql`${instant} + ${ms}::float8 * interval '1 millisecond'`,
    instantOf: (ms) => sql`to_timestamp(${ms}::float8 / 1000)`,
    epochMs: (instant) => sql`(date_part('epoch', ${instant}) * 1000)`,
    forUpdateOf: (alias, wait) => raw(`for update of ${alias}${wait === undefined ? "" : ` ${wait}`}`),
    rows: unnest,
    among: (column, values, type = "text") =>
      sql`${column} = any(${arrayOf(type, values, itself)}::${raw(type)}[])`,
    notify: () => (notices ? sql`select pg_notify(${`${CHANNEL}:${schema}`}, '')` : undefined),
    trouble,
    violation: (error) => violation(error, schema),
  };
}

function itself(value: string): string {
  return value;
}
