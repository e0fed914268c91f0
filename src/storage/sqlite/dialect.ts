/** The SQL fragments of SQLite. Instants are integers: milliseconds since the epoch. */
import type { Clock } from "../clock.ts";
import type { Dialect } from "../database.ts";
import type { Fields } from "../fields.ts";
import { empty, raw, sql, type Sql } from "../sql.ts";
import { trouble, violation } from "./trouble.ts";

export function sqliteDialect(prefix: string, clock: Clock): Dialect {
  const now = clock.virtualNowMs;
  return {
    name: "sqlite",
    pick: ({ sqlite }) => sqlite,
    table: (name) => raw(`${prefix}${name}`),
    // The sum has no affinity: with the affinity of a cast, SQLite would scan an expression index instead of
    // searching it.
    now: now ? () => sql`${now()}` : () => raw("(cast(unixepoch('subsec') * 1000 as integer) + 0)"),
    plusMs: (instant, ms) => sql`${instant} + cast(${ms} as integer)`,
    instantOf: (ms) => sql`cast(${ms} as integer)`,
    epochMs: (instant) => instant,
    forUpdateOf: () => empty,
    rows: jsonRows,
    among: (column, values, type = "text") =>
      sql`${column} in (select value from json_each(${JSON.stringify(type === "text" ? values : values.map(Number))}))`,
    notify: () => undefined,
    trouble,
    violation: (error) => violation(error, prefix),
  };
}

/** Select lists of sent rows, built once because they are the same for every statement. */
const selected = new WeakMap<object, Sql>();

function jsonRows<From>(fields: Fields<From>, from: readonly From[]): Sql {
  const { all } = fields;
  let columns = selected.get(fields);
  if (!columns) {
    columns = raw(all.map(({ name }, index) => `value ->> ${index} as ${name}`).join(", "));
    selected.set(fields, columns);
  }
  const rows = from.map((one) => all.map((field) => field.value(one)));
  return sql`(select ${columns} from json_each(${JSON.stringify(rows)})) as r`;
}
