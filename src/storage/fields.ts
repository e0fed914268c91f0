/**
 * Rows that are sent to the database. One declaration names each column of a parameter relation, its type and where
 * its value comes from:
 *
 *     const SETTLE = fields<Settlement>({
 *       row_id: uuid((settlement) => settlement.entryId),
 *       row_token: bigint((settlement) => settlement.token),
 *       error: text((settlement) => settlement.error, { default: null }),
 *     });
 *     sql`update … from ${dialect.rows(SETTLE, settlements)} where c.entry_id = r.row_id …`
 *
 * The relation is always called `r`. The dialect reads the values straight from the objects. A value of the wrong
 * type for its column does not compile. Rows are sent in one of two forms, so each statement has at most two texts:
 * if every column with a `default` has it, and every `shared` column has one value, the short form leaves out the
 * defaults and sends each shared value once.
 */
import type { Field } from "./column.ts";
import { raw, type Sql } from "./sql.ts";

export interface NamedField<From> extends Field<From> {
  readonly name: string;
}

/** Which values of the rows are sent. The other fields have their default in every row. */
export interface Form<From> {
  /** Fields of which all rows have one value. */
  readonly once: readonly NamedField<From>[];
  /** Fields of which each row has its own value. */
  readonly sent: readonly NamedField<From>[];
}

type Shape<From> = Readonly<Record<string, Field<From>>>;

export class Fields<From> {
  /** The declaration, to be spread into a larger one. */
  readonly shape: Shape<From>;
  /** The same in its order, for dialects. */
  readonly all: readonly NamedField<From>[];
  /** The columns' names, for the column list of an insert. */
  readonly names: Sql;
  readonly #full: Form<From>;
  readonly #short: Form<From>;
  readonly #defaults: readonly NamedField<From>[];

  constructor(shape: Shape<From>) {
    this.shape = shape;
    this.all = Object.entries(shape).map(([name, field]) => ({ ...field, name }));
    this.names = raw(this.all.map(({ name }) => name).join(", "));
    this.#defaults = this.all.filter((field) => field.default !== undefined);
    const once = this.all.filter(({ isShared }) => isShared);
    const sent = this.all.filter((field) => field.default === undefined && !field.isShared);
    this.#full = { once: [], sent: this.all };
    this.#short = { once, sent };
  }

  /** The form in which these rows are sent. */
  formOf(from: readonly From[]): Form<From> {
    const isShort = this.#short.sent.length < this.all.length && this.#areCommon(from);
    return isShort ? this.#short : this.#full;
  }

  #areCommon(from: readonly From[]): boolean {
    const [first] = from;
    if (first === undefined) return false;
    for (const field of this.#defaults)
      for (const one of from) if ((field.value(one) ?? null) !== field.default) return false;
    for (const field of this.#short.once) {
      const value = field.value(first);
      for (const one of from) if (field.value(one) !== value) return false;
    }
    return true;
  }

  /** The columns under an alias, for a select list: `r.row_id, r.row_token`. */
  list(alias: string = "r"): Sql {
    return raw(this.all.map(({ name }) => `${alias}.${name}`).join(", "));
  }

  /** Some of these fields, such as a key. */
  pick(...names: readonly string[]): Fields<From> {
    const unknown = names.find((name) => this.shape[name] === undefined);
    if (unknown !== undefined) throw new TypeError(`amends: there is no field ${unknown}`);
    return new Fields(Object.fromEntries(names.map((name) => [name, this.shape[name] as Field<From>])));
  }
}

export function fields<From>(shape: Shape<From>): Fields<From> {
  return new Fields(shape);
}
