/**
 * Objects as a relation: one array per field, or plain values for a single object, which gets the simplest plan.
 */
import type { FieldType } from "../column.ts";
import type { Fields, NamedField } from "../fields.ts";
import { literals, Sql } from "../sql.ts";

/** Encodes one value of each object as an array of PostgreSQL. */
export type EncodeArray = <From>(
  type: FieldType,
  from: readonly From[],
  valueOf: (one: From) => unknown,
) => unknown;

export function unnest<From>(encode: EncodeArray, fields: Fields<From>, from: readonly From[]): Sql {
  const { all, sparse, defaults } = framesOf(fields);
  const frame = defaults.length > 0 && from.every((one) => hasDefaults(defaults, one)) ? sparse : all;
  if (from.length === 1) {
    const [lone] = from as [From];
    return new Sql(
      frame.lone,
      frame.sent.map((field) => field.value(lone) ?? null),
    );
  }
  return new Sql(
    frame.many,
    frame.sent.map((field) => encode(field.type, from, field.value)),
  );
}

function hasDefaults<From>(defaults: readonly NamedField<From>[], from: From): boolean {
  for (const field of defaults) if ((field.value(from) ?? null) !== field.default) return false;
  return true;
}

interface Frame<From> {
  readonly lone: readonly string[];
  readonly many: readonly string[];
  /** The fields whose values are parameters. */
  readonly sent: readonly NamedField<From>[];
}

interface Frames<From> {
  readonly all: Frame<From>;
  /** Without the fields that have their default. */
  readonly sparse: Frame<From>;
  readonly defaults: readonly NamedField<From>[];
}

const cached = new WeakMap<object, unknown>();

/** The text around the parameters, built once because it is the same for every statement. */
function framesOf<From>(fields: Fields<From>): Frames<From> {
  const known = cached.get(fields) as Frames<From> | undefined;
  if (known) return known;
  const defaults = fields.all.filter((field) => field.default !== undefined);
  const sent = fields.all.filter((field) => field.default === undefined);
  const made = { all: frameOf(fields.all, fields.all), sparse: frameOf(fields.all, sent), defaults };
  cached.set(fields, made);
  return made;
}

function frameOf<From>(all: readonly NamedField<From>[], sent: readonly NamedField<From>[]): Frame<From> {
  const names = sent.map(({ name }) => name).join(", ");
  const selected = all.map((field) => (sent.includes(field) ? `u.${field.name}` : constant(field)));
  const [before, alias, after] =
    sent.length === all.length ? ["", "r", ""] : [`(select ${selected.join(", ")} from `, "u", ") as r"];
  const between = (open: string, suffix: string, close: string): string[] => [
    `${before}${open}`,
    ...sent.slice(0, -1).map(({ type }) => `::${type}${suffix}, `),
    `::${sent.at(-1)?.type ?? "text"}${suffix}${close} as ${alias}(${names})${after}`,
  ];
  return { lone: between("(values (", "", "))"), many: between("unnest(", "[]", ")"), sent };
}

function constant<From>({ name, type, default: common }: NamedField<From>): string {
  const value = typeof common === "string" ? literals([common]).text : String(common);
  return `${value}::${type} as ${name}`;
}
