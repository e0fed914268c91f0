/**
 * Rows that come from the database. One declaration per table ties the type of a row to its columns, and gives the
 * select list and the reader:
 *
 *     export interface EntryRow {
 *       readonly entryId: string;
 *       readonly attempts: number;
 *       readonly enqueuedAt: number; // milliseconds since the epoch
 *       readonly lastError: string | undefined;
 *     }
 *     export const ENTRY: Table<EntryRow> = table("outbox", {
 *       entryId: uuid("entry_id"),
 *       attempts: int("attempts"),
 *       enqueuedAt: instant("enqueued_at"),
 *       lastError: optional(text("last_error")),
 *     });
 *     sql`select ${ENTRY.columns(dialect, "c")} from ${ENTRY.of(dialect)} as c …`
 *     rows.map((row) => ENTRY.read(row))
 *
 * A column that is missing, or of another type than the interface says, does not compile. An exported declaration
 * needs its type, as every export; within one file the interface may be left out, and the type is inferred.
 *
 * A `projection` reads rows whose select list is written by hand: counts, joins, computed columns. Both can be
 * built from another one's columns: `projection({ ...ENTRY.shape, nowAt: instant("now_at") })`.
 *
 * `read` throws `UnreadableRow` for an invalid row, for example one that was edited by hand. Where one such row
 * must not stop the others, `tryRead` returns undefined instead.
 */
import type { Column } from "./column.ts";
import type { Dialect, Row } from "./database.ts";
import { raw, type Sql } from "./sql.ts";

/** The column of each property of a row. */
export type Columns<Of> = { readonly [Key in keyof Of]-?: Column<Of[Key]> };

/** What `read` returns, of a declaration whose type is inferred. */
export type RowOf<P> = P extends Projection<infer Of> ? Of : never;

/** A row does not match its declaration. */
export class UnreadableRow extends Error {
  readonly column: string;

  constructor(column: string, options: ErrorOptions) {
    super(`amends: column ${column} of a row cannot be read`, options);
    this.column = column;
  }
}

export class Projection<Of extends object> {
  /** The declaration, to be spread into another one. */
  readonly shape: Columns<Of>;
  readonly #columns: readonly (readonly [key: string, column: Column<unknown>])[];

  constructor(shape: Columns<Of>) {
    this.shape = shape;
    this.#columns = Object.entries(shape);
  }

  read(row: Row): Of {
    const value: Record<string, unknown> = {};
    let name = "";
    try {
      for (const [key, column] of this.#columns) {
        name = column.name;
        value[key] = column.read(row[name]);
      }
    } catch (cause) {
      throw new UnreadableRow(name, { cause });
    }
    return value as Of;
  }

  /** Undefined for a row that cannot be read. */
  tryRead(row: Row): Of | undefined {
    try {
      return this.read(row);
    } catch (error) {
      if (error instanceof UnreadableRow) return undefined;
      throw error;
    }
  }
}

export class Table<Of extends object> extends Projection<Of> {
  readonly name: string;
  /** Select lists by alias, built once because they are the same for every statement. */
  readonly #lists = new WeakMap<Dialect, Map<string, Sql>>();

  constructor(name: string, shape: Columns<Of>) {
    super(shape);
    this.name = name;
  }

  of(dialect: Dialect): Sql {
    return dialect.table(this.name);
  }

  /** The select list. Without an alias for `returning`, where SQLite allows none. */
  columns(dialect: Dialect, alias: string = ""): Sql {
    const known = this.#lists.get(dialect) ?? new Map<string, Sql>();
    this.#lists.set(dialect, known);
    const list = known.get(alias) ?? this.#list(dialect, alias === "" ? "" : `${alias}.`);
    known.set(alias, list);
    return list;
  }

  #list(dialect: Dialect, prefix: string): Sql {
    const columns = Object.values<Column<unknown>>(this.shape).map(({ name, select }) => {
      const column = `${prefix}${name}`;
      return select ? `${select(dialect, raw(column)).text} as ${name}` : column;
    });
    return raw(columns.join(", "));
  }
}

export function table<Of extends object>(name: string, shape: Columns<Of>): Table<Of> {
  return new Table(name, shape);
}

export function projection<Of extends object>(shape: Columns<Of>): Projection<Of> {
  return new Projection(shape);
}
