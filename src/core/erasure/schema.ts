/** A database's own schema, as far as an erasure needs it: read by schema-queries.ts, in the words of both databases. */

/** Kinds of column types that have surrogates in common. */
export type Family =
  | "text"
  | "integer"
  | "decimal"
  | "boolean"
  | "date"
  | "timestamp"
  | "time"
  | "interval"
  | "uuid"
  | "bytes"
  | "json"
  | "enum"
  | "array"
  | "network"
  | "other";

export interface ColumnType {
  readonly family: Family;
  /** As the database writes it, for casts; empty on SQLite, which has no need of them. */
  readonly sqlName: string;
  /** Of texts: how many characters fit. */
  readonly maxLength?: number | undefined;
  /** Of whole numbers: how many bytes. */
  readonly bytes?: number | undefined;
  /** Of enums. */
  readonly labels?: readonly string[] | undefined;
  /** An instant with its time zone. */
  readonly zoned?: boolean | undefined;
  /** A type with rules of its own (a domain), which only a declared surrogate is known to keep. */
  readonly ruled?: boolean | undefined;
  /** The column holds whatever was put into it (SQLite): a surrogate has the type of the value that it takes the place of. */
  readonly loose?: boolean | undefined;
}

export interface LiveColumn {
  readonly name: string;
  readonly type: ColumnType;
  readonly nullable: boolean;
  /** Computed from other columns. */
  readonly generated: boolean;
}

export interface Check {
  /** The columns that it looks at. */
  readonly columns: readonly string[];
  readonly expression: string;
}

export interface LiveTable {
  /** As the data map calls it. */
  readonly name: string;
  /** Quoted, and with its schema. */
  readonly sqlName: string;
  /** A table that rows can be deleted from and changed in; not a view. */
  readonly isTable: boolean;
  readonly columns: readonly LiveColumn[];
  readonly primaryKey: readonly string[];
  /** Columns of each unique key or index, the primary key included. */
  readonly uniques: readonly (readonly string[])[];
  readonly checks: readonly Check[];
}

export type OnDelete = "no action" | "restrict" | "cascade" | "set null" | "set default";

export interface ForeignKey {
  /** The referring table: as the map calls it where it is mapped, else as the database does. */
  readonly child: string;
  readonly childSqlName: string;
  readonly columns: readonly string[];
  /** One of the columns must not be null. */
  readonly required: boolean;
  /** The mapped table that is referred to, or the name of another one. */
  readonly parent: string;
  readonly references: readonly string[];
  readonly onDelete: OnDelete;
}

export interface LiveSchema {
  readonly dialect: "postgres" | "sqlite";
  readonly tables: readonly LiveTable[];
  /** Those from or to a mapped table. */
  readonly foreignKeys: readonly ForeignKey[];
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
