/**
 * Objects as a relation: one array per field, or plain values for a single object, which gets the simplest plan.
 */
import type { FieldType } from "../column.ts";
import type { Fields, Form, NamedField } from "../fields.ts";
import { literals, Sql } from "../sql.ts";

/** How one parameter holds a whole column. */
export interface ArrayFormat {
  /**
   * Encodes one value of each object. Nulls at the end are left out: `unnest` fills shorter arrays with nulls.
   */
  readonly encode: <From>(type: FieldType, from: readonly From[], valueOf: (one: From) => unknown) => unknown;
  /** The text around the parameter that makes an array of it. */
  readonly around: (type: FieldType) => Around;
}

type Around = readonly [before: string, after: string];

export function unnest<From>(format: ArrayFormat, fields: Fields<From>, from: readonly From[]): Sql {
  const form = fields.formOf(from);
  const { lone, many } = textsOf(format, fields, form);
  const [first] = from as readonly [From];
  if (from.length === 1)
    return new Sql(
      lone.strings,
      lone.sent.map(({ value }) => value(first) ?? null),
    );
  checkLength(form, from);
  const values: unknown[] = form.once.map(({ value }) => value(first) ?? null);
  for (const { type, value } of form.sent) values.push(format.encode(type, from, value));
  return new Sql(many, values);
}

/** One column has a value in the last row, so that its array is as long as the relation. */
function checkLength<From>({ sent }: Form<From>, from: readonly From[]): void {
  const last = from.at(-1);
  if (last === undefined || sent.some(({ value }) => (value(last) ?? null) !== null)) return;
  throw new TypeError("amends: the last row that is sent has no value");
}

/** The text around the parameters of one form. */
interface Texts<From> {
  /** Of a single row. A value of all rows is like any other there. */
  readonly lone: { readonly strings: readonly string[]; readonly sent: readonly NamedField<From>[] };
  readonly many: readonly string[];
}

const cached = new WeakMap<ArrayFormat, WeakMap<object, unknown>>();

/** Built once, because it is the same for every statement. */
function textsOf<From>(format: ArrayFormat, { all }: Fields<From>, form: Form<From>): Texts<From> {
  let ofFormat = cached.get(format);
  if (!ofFormat) cached.set(format, (ofFormat = new WeakMap()));
  const known = ofFormat.get(form) as Texts<From> | undefined;
  if (known) return known;
  const { once, sent } = form;
  const single = all.filter((field) => once.includes(field) || sent.includes(field));
  const plain = (type: FieldType): Around => ["", `::${type}`];
  const lone = {
    strings: relation(all, { once: [], sent: single }, ["(values (", plain, "))"]),
    sent: single,
  };
  const made = { lone, many: relation(all, form, ["unnest(", format.around, ")"]) };
  ofFormat.set(form, made);
  return made;
}

/** The strings between the parameters: first those of `once`, in the select list, then those of `sent`. */
function relation<From>(
  all: readonly NamedField<From>[],
  { once, sent }: Form<From>,
  [open, around, close]: readonly [string, (type: FieldType) => Around, string],
): readonly string[] {
  const names = sent.map(({ name }) => name).join(", ");
  const from = [open];
  for (const [index, { type }] of sent.entries()) {
    const [before, after] = around(type);
    append(from, `${index === 0 ? "" : ", "}${before}`);
    from.push(after);
  }
  append(from, close);
  if (sent.length === all.length) return withEnd(from, ` as r(${names})`);
  const strings = ["(select "];
  for (const [index, field] of all.entries()) {
    const comma = index === 0 ? "" : ", ";
    if (once.includes(field)) {
      append(strings, comma);
      strings.push(`::${field.type} as ${field.name}`);
    } else append(strings, `${comma}${sent.includes(field) ? `u.${field.name}` : constant(field)}`);
  }
  append(strings, ` from ${from[0]}`);
  return withEnd([...strings, ...from.slice(1)], ` as u(${names})) as r`);
}

function append(strings: string[], text: string): void {
  strings[strings.length - 1] += text;
}

function withEnd(strings: string[], text: string): readonly string[] {
  append(strings, text);
  return strings;
}

function constant<From>({ name, type, default: common }: NamedField<From>): string {
  const value = typeof common === "string" ? literals([common]).text : String(common);
  return `${value}::${type} as ${name}`;
}
