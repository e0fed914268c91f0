/** SQLite's words. Instants are integers: milliseconds since the epoch. */
import type { Clock } from "../clock.ts";
import type { Column, Dialect } from "../database.ts";
import { empty, literals, raw, sql, type Sql } from "../sql.ts";
import { isDuplicate, trouble, violated } from "./trouble.ts";

export function sqliteDialect(prefix: string, clock: Clock): Dialect {
  const now = clock.virtualNowMs;
  return {
    name: "sqlite",
    table: (name) => raw(`${prefix}${name}`),
    // The sum has no affinity: compared with a cast, an index on an expression would not be searched but scanned.
    now: now ? () => sql`${now()}` : () => raw("(cast(unixepoch('subsec') * 1000 as integer) + 0)"),
    plusMs: (instant, ms) => sql`${instant} + cast(${ms} as integer)`,
    instantOf: (ms) => sql`cast(${ms} as integer)`,
    epochMs: (instant) => instant,
    gate: (column) => sql`coalesce(${column}, 0)`,
    forUpdateOf: () => empty,
    skipLocked: empty,
    rows: jsonRows,
    among: (column, values, type = "text") =>
      sql`${column} in (select value from json_each(${JSON.stringify(type === "text" ? values : values.map(Number))}))`,
    joinFirst,
    joinRows: ({ table, where, order }, count, countMax) =>
      sql`${joinFirst(sql`select x.id as value from ${table} as x where ${where} order by ${order}`, count, countMax)}
        join ${table} as s on s.id = first.value`,
    contains: (text, part) => sql`instr(${text}, ${part}) > 0`,
    together: (first, second) => [first, second],
    chain: (stages) => stages.filter(({ forOthers }) => !forOthers).map(({ statement }) => statement),
    linked: (_byName, byTable) => byTable,
    firstWord: (column, without) =>
      sql`rtrim(substr(${column}, 1, instr(${column} || ' ', ' ') - 1), ${literals([without])})`,
    notify: () => undefined,
    trouble,
    isDuplicate,
    violated: (error) => violated(error, prefix),
    isRefused: () => false,
  };
}

/** A limit cannot look at the row before it here, but the place in a list can be compared with it. */
function joinFirst(query: Sql, count: Sql, countMax: number): Sql {
  return sql`join json_each((select json_group_array(listed.value) from (${query} limit ${countMax}) as listed)) as first
    on first.key < ${count}`;
}

function jsonRows(columns: readonly Column[], rows: readonly (readonly unknown[])[]): Sql {
  const fields = columns.map(({ name }, index) => `value ->> ${index} as ${name}`).join(", ");
  return sql`(select ${raw(fields)} from json_each(${JSON.stringify(rows)})) as r`;
}
