/** PostgreSQL's words. */
import type { Clock } from "../clock.ts";
import type { Column, Dialect } from "../database.ts";
import { empty, join, literals, raw, sql, type Sql } from "../sql.ts";
import { trouble } from "./trouble.ts";

export const CHANNEL = "amends";

export function postgresDialect(schema: string, clock: Clock, notices: boolean): Dialect {
  const now = clock.virtualNowMs;
  return {
    name: "postgres",
    table: (name) => raw(`${schema}.${name}`),
    now: now ? () => sql`to_timestamp(${now()}::float8 / 1000)` : () => raw("statement_timestamp()"),
    plusMs: (instant, ms) => sql`${instant} + ${ms}::float8 * interval '1 millisecond'`,
    epochMs: (instant) => sql`(extract(epoch from ${instant}) * 1000)::float8`,
    gate: (column) => sql`coalesce(${column}, '-infinity'::timestamptz)`,
    forUpdateOf: (alias) => raw(`for update of ${alias}`),
    skipLocked: raw("for update skip locked"),
    rows: unnest,
    among: (column, values) => sql`${column} = any(${arrayLiteral(values)}::text[])`,
    firstWord: (column, without) => sql`rtrim(split_part(${column}, ' ', 1), ${literals([without])})`,
    notify: () => (notices ? sql`select pg_notify(${`${CHANNEL}:${schema}`}, '')` : undefined),
    trouble,
  };
}

function unnest(columns: readonly Column[], rows: readonly (readonly unknown[])[]): Sql {
  if (columns.length === 0) return empty;
  const arrays = columns.map(
    ({ type }, index) => sql`${arrayLiteral(rows.map((row) => row[index]))}::${raw(type)}[]`,
  );
  return sql`unnest(${join(arrays)}) as r(${raw(columns.map(({ name }) => name).join(", "))})`;
}

/** An array as PostgreSQL writes it: much cheaper to make than what a driver makes of a JavaScript array. */
function arrayLiteral(values: readonly unknown[]): string {
  let text = "{";
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (i > 0) text += ",";
    if (value === null || value === undefined) text += "NULL";
    else if (typeof value === "number") text += value;
    else text += quote(String(value));
  }
  return `${text}}`;
}

function quote(text: string): string {
  return /["\\]/.test(text) ? `"${text.replaceAll(/["\\]/g, "\\$&")}"` : `"${text}"`;
}
