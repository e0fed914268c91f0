/** The SQL fragments of SQLite. Instants are integers: milliseconds since the epoch. */
import type { Clock } from "../clock.ts";
import type { Dialect } from "../database.ts";
import type { Fields, Form, NamedField } from "../fields.ts";
import { empty, literals, raw, Sql, sql } from "../sql.ts";
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

function jsonRows<From>(fields: Fields<From>, from: readonly From[]): Sql {
  const form = fields.formOf(from);
  const [first] = from as readonly [From];
  const values: unknown[] = form.once.map(({ value }) => value(first) ?? null);
  values.push(JSON.stringify(from.map((one) => form.sent.map(({ value }) => value(one)))));
  return new Sql(stringsOf(fields, form), values);
}

const cached = new WeakMap<object, readonly string[]>();

/**
 * The text around the parameters: the values that all rows have, then the JSON of the rows. It is built once for each form,
 * because it is the same for every statement.
 */
function stringsOf<From>({ all }: Fields<From>, form: Form<From>): readonly string[] {
  const known = cached.get(form);
  if (known) return known;
  const strings = ["(select "];
  for (const [index, field] of all.entries()) {
    const at = form.sent.indexOf(field);
    const isOnce = form.once.includes(field);
    strings[strings.length - 1] += index === 0 ? "" : ", ";
    if (isOnce) strings.push("");
    else strings[strings.length - 1] += at >= 0 ? `value ->> ${at}` : constant(field);
    strings[strings.length - 1] += ` as ${field.name}`;
  }
  strings[strings.length - 1] += " from json_each(";
  strings.push(")) as r");
  cached.set(form, strings);
  return strings;
}

function constant<From>({ default: common }: NamedField<From>): string {
  return typeof common === "string" ? literals([common]).text : String(common);
}
