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
 * The relation is always called `r`. The dialect reads the values column by column straight from the objects. A
 * value of the wrong type for its column does not compile. Columns with a `default` are not sent if all of them
 * have their default in every row, so each statement has at most two texts.
 */
import type { Field } from "./column.ts";
import { raw, type Sql } from "./sql.ts";

export interface NamedField<From> extends Field<From> {
  readonly name: string;
}

type Shape<From> = Readonly<Record<string, Field<From>>>;

export class Fields<From> {
  /** The declaration, to be spread into a larger one. */
  readonly shape: Shape<From>;
  /** The same in its order, for dialects. */
  readonly all: readonly NamedField<From>[];
  /** The columns' names, for the column list of an insert. */
  readonly names: Sql;

  constructor(shape: Shape<From>) {
    this.shape = shape;
    this.all = Object.entries(shape).map(([name, field]) => ({ ...field, name }));
    this.names = raw(this.all.map(({ name }) => name).join(", "));
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
