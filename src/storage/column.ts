/**
 * The kinds of columns, each in two directions. Given a function, a kind declares a field: a value that is sent to
 * the database (fields.ts). Given a name, it declares a column: a value that the database returns (table.ts). Only
 * this file knows how drivers represent values: a bigint comes back as a string, a number or a BigInt, a flag as a
 * boolean or as 0 and 1, an instant as milliseconds since the epoch.
 */
import type { Dialect } from "./database.ts";
import type { Sql } from "./sql.ts";

/** The type of a field in a statement. SQLite ignores it. */
export type FieldType = "text" | "int" | "bigint" | "float8" | "uuid";

type FieldValue = string | number | bigint | null | undefined;

/** The source of one column's values in sent rows. `undefined` is sent as null. */
export interface Field<From> {
  readonly type: FieldType;
  /** The common value. If every row has it, the column is not sent. */
  readonly default: string | number | null | undefined;
  /** Rows that are sent together mostly have the same value. If all do, it is sent once. */
  readonly isShared: boolean;
  readonly value: (from: From) => FieldValue;
}

/** One column of the rows that are read. */
export interface Column<Value> {
  readonly name: string;
  /** The expression that is selected under this name. Undefined: the column itself. */
  readonly select: ((dialect: Dialect, column: Sql) => Sql) | undefined;
  /** Throws if the database returned a value that this column cannot hold. */
  readonly read: (given: unknown) => Value;
}

type Common<Value> = { readonly default: Value | null } | { readonly shared: true };

type Maybe<Value> = Value | null | undefined;

/** Text. As a column, `text<Status>("status")` names the texts that the table's CHECK allows. */
export function text<From>(value: (from: From) => Maybe<string>, options?: Common<string>): Field<From>;
export function text<Value extends string = string>(name: string): Column<Value>;
export function text<From>(source: Source<From>, options?: Common<string>): FieldOrColumn<From> {
  return make("text", source, options, readText);
}

/** A UUID in its usual notation. */
export function uuid<From>(value: (from: From) => Maybe<string>, options?: Common<string>): Field<From>;
export function uuid(name: string): Column<string>;
export function uuid<From>(source: Source<From>, options?: Common<string>): FieldOrColumn<From> {
  return make("uuid", source, options, readText);
}

/** A 32-bit integer; as a column also a count. */
export function int<From>(value: (from: From) => Maybe<number>, options?: Common<number>): Field<From>;
export function int(name: string): Column<number>;
export function int<From>(source: Source<From>, options?: Common<number>): FieldOrColumn<From> {
  return make("int", source, options, readNumber);
}

/** A 64-bit integer. As a column it is a number, so it is for values below 2^53; use `id` for keys. */
export function bigint<From>(
  value: (from: From) => Maybe<number | bigint | string>,
  options?: Common<number>,
): Field<From>;
export function bigint(name: string): Column<number>;
export function bigint<From>(source: Source<From>, options?: Common<number>): FieldOrColumn<From> {
  return make("bigint", source, options, readNumber);
}

/** A number that may have a fraction, such as milliseconds. */
export function float<From>(value: (from: From) => Maybe<number>, options?: Common<number>): Field<From>;
export function float(name: string): Column<number>;
export function float<From>(source: Source<From>, options?: Common<number>): FieldOrColumn<From> {
  return make("float8", source, options, readNumber);
}

/** True or false. It is sent as the integers 1 and 0: write `r.name = 1`. */
export function flag<From>(value: (from: From) => Maybe<boolean>, options?: Common<0 | 1>): Field<From>;
export function flag(name: string): Column<boolean>;
export function flag<From>(source: Source<From>, options?: Common<0 | 1>): FieldOrColumn<From> {
  if (typeof source === "string") return column(source, readFlag);
  const value = (from: From): FieldValue => {
    const given = source(from);
    return given === null || given === undefined ? given : given ? 1 : 0;
  };
  return { type: "int", value, ...commonOf(options) };
}

/** A 64-bit serial key of the database, as text: it may exceed the safe integers. */
export function id(name: string): Column<string> {
  return column(name, (given) => {
    if (typeof given === "string" || typeof given === "number" || typeof given === "bigint")
      return `${given}`;
    throw unfit();
  });
}

/** An instant, selected as milliseconds since the epoch. */
export function instant(name: string): Column<number> {
  return { ...column(name, readNumber), select: (dialect, of) => dialect.epochMs(of) };
}

/** JSON that is stored as text. */
export function json<Value>(name: string): Column<Value> {
  return column(name, (given) => JSON.parse(readText(given)) as Value);
}

/** A nullable column: null is read as undefined. */
export function optional<Value>(of: Column<Value>): Column<Value | undefined> {
  const read = (given: unknown): Value | undefined =>
    given === null || given === undefined ? undefined : of.read(given);
  return { ...of, read };
}

type Source<From> = string | ((from: From) => unknown);
type FieldOrColumn<From> = Field<From> | Column<unknown>;

function make<From>(
  type: FieldType,
  source: Source<From>,
  options: Common<string | number> | undefined,
  read: (given: unknown) => unknown,
): FieldOrColumn<From> {
  if (typeof source === "string") return column(source, read);
  return { type, value: source as Field<From>["value"], ...commonOf(options) };
}

function commonOf(options: Common<string | number> | undefined): Pick<Field<never>, "default" | "isShared"> {
  const isShared = options !== undefined && "shared" in options;
  return { default: options !== undefined && "default" in options ? options.default : undefined, isShared };
}

function column<Value>(name: string, read: (given: unknown) => Value): Column<Value> {
  return { name, select: undefined, read };
}

function readText(given: unknown): string {
  if (typeof given === "string") return given;
  throw unfit();
}

function readNumber(given: unknown): number {
  if (typeof given === "number") return given;
  const number = typeof given === "string" && given !== "" ? Number(given) : Number.NaN;
  if (!Number.isNaN(number)) return number;
  if (typeof given === "bigint") return Number(given);
  throw unfit();
}

function readFlag(given: unknown): boolean {
  if (typeof given === "boolean") return given;
  return readNumber(given) !== 0;
}

function unfit(): TypeError {
  return new TypeError("amends: the database returned a value that its column cannot hold");
}
