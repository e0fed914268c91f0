/** PostgreSQL's words. */
import type { Clock } from "../clock.ts";
import { ALL_EXPECTED, type Column, type Dialect, type Stage } from "../database.ts";
import { empty, join, literals, raw, sql, Sql } from "../sql.ts";
import { arrayOf } from "./array.ts";
import { isDuplicate, isDivisionByZero, trouble, violated } from "./trouble.ts";

export const CHANNEL = "amends";

export function postgresDialect(schema: string, clock: Clock, notices: boolean): Dialect {
  const now = clock.virtualNowMs;
  return {
    name: "postgres",
    table: (name) => raw(`${schema}.${name}`),
    now: now ? () => sql`to_timestamp(${now()}::float8 / 1000)` : () => raw("statement_timestamp()"),
    plusMs: (instant, ms) => sql`${instant} + ${ms}::float8 * interval '1 millisecond'`,
    instantOf: (ms) => sql`to_timestamp(${ms}::float8 / 1000)`,
    epochMs: (instant) => sql`(date_part('epoch', ${instant}) * 1000)`,
    gate: (column) => sql`coalesce(${column}, '-infinity'::timestamptz)`,
    forUpdateOf: (alias) => raw(`for update of ${alias}`),
    skipLocked: raw("for update skip locked"),
    rows: unnest,
    among: (column, values, type = "text") =>
      sql`${column} = any(${arrayOf(
        type,
        values.map((value) => [value]),
        0,
      )}::${raw(type)}[])`,
    joinFirst: (query, count) => sql`cross join unnest(array(${query} limit ${count})) as first(value)`,
    joinRows: ({ table, columns, where, order }, count) =>
      sql`cross join lateral (select ${raw(columns.map((name) => `x.${name}`).join(", "))} from ${table} as x
        where ${where} order by ${order} limit ${count}) as s`,
    contains: (text, part) => sql`strpos(${text}, ${part}) > 0`,
    // Looking at the first one's rows makes it run to its end before the second begins.
    together: (first, second) => [
      sql`with first as (${first} returning 1) ${second} where (select count(*) from first) >= 0`,
    ],
    chain: (stages, columns) => chain(stages, columns, now ? sql`${now()}::float8` : CLOCK_MS),
    linked: (byName) => byName,
    firstWord: (column, without) => sql`rtrim(split_part(${column}, ' ', 1), ${literals([without])})`,
    notify: () => (notices ? sql`select pg_notify(${`${CHANNEL}:${schema}`}, '')` : undefined),
    trouble,
    isDuplicate,
    violated,
    // A chain divides by zero where a stage has too few rows, and may find a key there that it hoped not to find.
    isRefused: (error) => isDivisionByZero(error) || isDuplicate(error),
  };
}

const CLOCK_MS = raw("(date_part('epoch', statement_timestamp()) * 1000)");

/** Each stage sees what those before it returned, though not what they wrote: all of them look at one snapshot. */
function chain(stages: readonly Stage[], columns: readonly string[], nowMs: Sql): readonly Sql[] {
  const named = stages.map(({ name, statement }) => sql`${raw(name)} as (${statement})`);
  const answering = stages.filter(({ usual }) => usual !== undefined);
  if (answering.length === 0) return [sql`with ${join(named, ", ")} select 1 where false`];
  const counted = ({ name, usual, only }: Stage): Sql => {
    const rows = only ? sql`${raw(name)} where ${only}` : raw(name);
    return sql`(select count(*) from ${rows}) = ${usual}::int`;
  };
  const all = (some: readonly Stage[]): Sql =>
    some.length === 0 ? raw("true") : join(some.map(counted), " and ");
  const sure = all(answering.filter(({ must }) => must));
  const rest = all(answering.filter(({ must }) => !must));
  const list = columns.join(", ");
  const details = answering
    .filter(({ must }) => !must)
    .map(
      ({ name, only, as }) =>
        sql` union all select ${as ?? raw(list)} from ${raw(name)} where not (select so from usual)${only ? sql` and ${only}` : empty}`,
    );
  const summary = columns.map((column) => {
    if (column === "stage") return sql`${literals([ALL_EXPECTED])} as stage`;
    return column === "at" ? sql`${nowMs} as at` : raw(`null as ${column}`);
  });
  return [
    sql`with ${join(named, ", ")}, usual as materialized (select 1 / (case when ${sure} then 1 else 0 end) = 1 and ${rest} as so)
      select ${join(summary)} from usual where so${details.length > 0 ? join(details, "") : empty}`,
  ];
}

/** A lone row takes the simplest plan; many rows travel as one array per column. */
function unnest(columns: readonly Column[], rows: readonly (readonly unknown[])[]): Sql {
  const frames = framesOf(columns);
  const isUsual = frames.settled.length > 0 && rows.every((row) => allUsual(frames.settled, row));
  const { lone, many, indexes } = isUsual ? frames.usual : frames.all;
  const [first] = rows;
  if (rows.length === 1 && first)
    return new Sql(
      lone,
      indexes.map((index) => first[index] ?? null),
    );
  return new Sql(
    many,
    indexes.map((index) => arrayOf((columns[index] as Column).type, rows, index)),
  );
}

type Usual = readonly [index: number, value: unknown];

function allUsual(usual: readonly Usual[], row: readonly unknown[]): boolean {
  for (const [index, value] of usual) if ((row[index] ?? null) !== value) return false;
  return true;
}

interface Frame {
  readonly lone: readonly string[];
  readonly many: readonly string[];
  /** Of the columns that travel. */
  readonly indexes: readonly number[];
}

interface Frames {
  readonly all: Frame;
  /** Without the columns that are as usual. */
  readonly usual: Frame;
  readonly settled: readonly Usual[];
}

const cached = new WeakMap<readonly Column[], Frames>();

/** The text around the parameters: the same for every flush, so it is made once. */
function framesOf(columns: readonly Column[]): Frames {
  const known = cached.get(columns);
  if (known) return known;
  const settled = columns.flatMap(({ usual }, index) =>
    usual === undefined ? [] : [[index, usual] as const],
  );
  const travelling = columns.filter(({ usual }) => usual === undefined);
  const made = { all: frameOf(columns, columns), usual: frameOf(columns, travelling), settled };
  cached.set(columns, made);
  return made;
}

function frameOf(columns: readonly Column[], travelling: readonly Column[]): Frame {
  const names = travelling.map(({ name }) => name).join(", ");
  const selected = columns.map((column) =>
    travelling.includes(column) ? `u.${column.name}` : constant(column),
  );
  const [before, alias, after] =
    travelling.length === columns.length
      ? ["", "r", ""]
      : [`(select ${selected.join(", ")} from `, "u", ") as r"];
  const between = (open: string, suffix: string, close: string): string[] => [
    `${before}${open}`,
    ...travelling.slice(0, -1).map(({ type }) => `::${type}${suffix}, `),
    `::${travelling.at(-1)?.type ?? "text"}${suffix}${close} as ${alias}(${names})${after}`,
  ];
  return {
    lone: between("(values (", "", "))"),
    many: between("unnest(", "[]", ")"),
    indexes: travelling.map((column) => columns.indexOf(column)),
  };
}

function constant({ name, type, usual }: Column): string {
  const value = usual === null || typeof usual === "number" ? String(usual) : literals([usual ?? ""]).text;
  return `${value}::${type} as ${name}`;
}
