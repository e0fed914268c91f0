/** Several figures in one statement. Each is an expression that the owner of its table wrote. */
import type { Dialect } from "../database.ts";
import type { Reader } from "./reader.ts";
import { join, raw, sql, type Sql } from "../sql.ts";

export interface Figure<Value> {
  readonly expression: Sql;
  read(value: unknown): Value;
}

export function numeric(expression: Sql): Figure<number> {
  return { expression, read: Number };
}

/** A text that changes whenever something changes. */
export function sign(expression: Sql): Figure<string> {
  return { expression, read: String };
}

/** The age of an instant in milliseconds; 0 if there is none, or if it is in the future. */
export function age(dialect: Dialect, instant: Sql): Figure<number> {
  const elapsed = sql`${dialect.epochMs(dialect.now())} - ${dialect.epochMs(instant)}`;
  return { expression: elapsed, read: (value) => Math.max(0, Math.round(Number(value ?? 0))) };
}

export function now(dialect: Dialect): Figure<number> {
  return numeric(dialect.epochMs(dialect.now()));
}

type Figures = Readonly<Record<string, Figure<unknown>>>;

type Values<Of extends Figures> = {
  readonly [Name in keyof Of]: Of[Name] extends Figure<infer Value> ? Value : never;
};

export async function readFigures<Of extends Figures>(reader: Reader, figures: Of): Promise<Values<Of>> {
  return (await readFigureGroups(reader, { figures })).figures;
}

/** Figures of several kinds in one statement, grouped by kind. */
export async function readFigureGroups<Of extends Readonly<Record<string, Figures>>>(
  reader: Reader,
  groups: Of,
): Promise<{ readonly [Group in keyof Of]: Values<Of[Group]> }> {
  const all = Object.values(groups).flatMap((figures) => Object.values(figures));
  const list = all.map(({ expression }, index) => sql`${expression} as ${raw(`figure_${index}`)}`);
  const [row] = await reader.query(sql`select ${join(list, ", ")}`);
  const values = all.map((figure, index) => figure.read(row?.[`figure_${index}`]));
  let at = 0;
  const read = Object.entries(groups).map(([group, figures]) => {
    const named = Object.keys(figures).map((name) => [name, values[at++]] as const);
    return [group, Object.fromEntries(named)] as const;
  });
  return Object.fromEntries(read) as { readonly [Group in keyof Of]: Values<Of[Group]> };
}
