/** The SQL fragments of PostgreSQL. */
import type { Clock } from "../clock.ts";
import type { Dialect } from "../database.ts";
import { raw, sql } from "../sql.ts";
import { BINARY_ARRAYS } from "./array.ts";
import { unnest, type ArrayFormat } from "./rows.ts";
import { TEXT_ARRAYS } from "./text-array.ts";
import { trouble, violation } from "./trouble.ts";
import { unwrapped } from "../joins/wrapped-error.ts";

export const CHANNEL = "amends";

/** For Amends' own connections. */
export function postgresDialect(schema: string, clock: Clock, notices: boolean): Dialect {
  return dialectWith(BINARY_ARRAYS, schema, clock, notices);
}

/** For a caller's transaction, with parameters that every client can carry. */
export function joinedDialect(schema: string, clock: Clock, notices: boolean): Dialect {
  return withWrappedErrors(dialectWith(TEXT_ARRAYS, schema, clock, notices));
}

/** Also for Amends' own work if its transactional steps run in transactions of another client. */
export function withWrappedErrors(dialect: Dialect): Dialect {
  return {
    ...dialect,
    trouble: (error) => dialect.trouble(unwrapped(error)),
    violation: (error) => dialect.violation(unwrapped(error)),
  };
}

function dialectWith(format: ArrayFormat, schema: string, clock: Clock, notices: boolean): Dialect {
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
    rows: (fields, from) => unnest(format, fields, from),
    among(column, values, type = "text") {
      const [before, after] = format.around(type);
      return sql`${column} = any(${raw(before)}${format.encode(type, values, itself)}${raw(after)})`;
    },
    // The function itself returns void, which not every client can read.
    notify: () => (notices ? sql`select 1 from pg_notify(${`${CHANNEL}:${schema}`}, '')` : undefined),
    trouble,
    violation: (error) => violation(error, schema),
  };
}

function itself(value: string): string {
  return value;
}
