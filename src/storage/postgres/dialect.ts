/** PostgreSQL's words. */
import type { Clock } from "../clock.ts";
import type { Column, Dialect, Stage } from "../database.ts";
import { join, literals, raw, sql, Sql } from "../sql.ts";
import { isDuplicate, trouble } from "./trouble.ts";

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
    among: (column, values, type = "text") => sql`${column} = any(${arrayLiteral(values)}::${raw(type)}[])`,
    joinFirst: (query, count) => sql`cross join unnest(array(${query} limit ${count})) as first(value)`,
    contains: (text, part) => sql`strpos(${text}, ${part}) > 0`,
    // Looking at the first one's rows makes it run to its end before the second begins.
    together: (first, second) => [
      sql`with first as (${first} returning 1) ${second} where (select count(*) from first) >= 0`,
    ],
    chain,
    linked: (byName) => byName,
    firstWord: (column, without) => sql`rtrim(split_part(${column}, ' ', 1), ${literals([without])})`,
    notify: () => (notices ? sql`select pg_notify(${`${CHANNEL}:${schema}`}, '')` : undefined),
    trouble,
    isDuplicate,
  };
}

/** Each stage sees what those before it returned, though not what they wrote: all of them look at one snapshot. */
function chain(stages: readonly Stage[], columns: readonly string[]): readonly Sql[] {
  const named = stages.map(({ name, statement }) => sql`${raw(name)} as (${statement})`);
  const list = columns.join(", ");
  const answers = stages
    .filter((stage) => stage.answers)
    .map(({ name }) => raw(`select ${list} from ${name}`));
  const answer = answers.length > 0 ? join(answers, " union all ") : raw("select 1 where false");
  return [sql`with ${join(named, ", ")} ${answer}`];
}

/** A lone row takes the simplest plan; many rows travel as one array per column. */
function unnest(columns: readonly Column[], rows: readonly (readonly unknown[])[]): Sql {
  const [first] = rows;
  const { lone, many } = frames(columns);
  if (rows.length === 1 && first) return new Sql(lone, first.map(nullish));
  return new Sql(
    many,
    columns.map((_, index) => columnLiteral(rows, index)),
  );
}

function nullish(value: unknown): unknown {
  return value ?? null;
}

interface Frames {
  readonly lone: readonly string[];
  readonly many: readonly string[];
}

const cached = new WeakMap<readonly Column[], Frames>();

/** The text around the parameters: the same for every flush, so it is made once. */
function frames(columns: readonly Column[]): Frames {
  const known = cached.get(columns);
  if (known) return known;
  const names = columns.map(({ name }) => name).join(", ");
  const between = (open: string, suffix: string, close: string): string[] => [
    open,
    ...columns.slice(0, -1).map(({ type }) => `::${type}${suffix}, `),
    `::${columns.at(-1)?.type ?? "text"}${suffix}${close} as r(${names})`,
  ];
  const made = { lone: between("(values (", "", "))"), many: between("unnest(", "[]", ")") };
  cached.set(columns, made);
  return made;
}

/** An array as PostgreSQL writes it: much cheaper to make than what a driver makes of a JavaScript array. */
function columnLiteral(rows: readonly (readonly unknown[])[], index: number): string {
  let text = "{";
  for (let i = 0; i < rows.length; i++)
    text += i === 0 ? element(rows[i]?.[index]) : `,${element(rows[i]?.[index])}`;
  return `${text}}`;
}

function arrayLiteral(values: readonly unknown[]): string {
  return `{${values.map(element).join(",")}}`;
}

function element(value: unknown): string {
  if (typeof value === "string") {
    const unslashed = value.indexOf("\\") < 0 ? value : value.replaceAll("\\", "\\\\");
    return `"${unslashed.indexOf('"') < 0 ? unslashed : unslashed.replaceAll('"', '\\"')}"`;
  }
  return typeof value === "number" ? String(value) : "NULL";
}
