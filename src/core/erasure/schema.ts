/**
 * The part of a database's schema that an erasure needs, in the same form for both databases. schema-queries.ts
 * reads it.
 */

/** Families of column types that share surrogates. */
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
  /** The type's SQL name, for casts; empty on SQLite, which needs no casts. */
  readonly sqlName: string;
  /** Texts: the maximum number of characters. */
  readonly maxLength?: number | undefined;
  /** Whole numbers: the size in bytes. */
  readonly bytes?: number | undefined;
  /** The labels of an enum. */
  readonly labels?: readonly string[] | undefined;
  /** An instant with its time zone. */
  readonly zoned?: boolean | undefined;
  /** A type with its own constraints (a domain): only a declared surrogate is known to satisfy them. */
  readonly ruled?: boolean | undefined;
  /** The column has no fixed type (SQLite): a surrogate has the type of the value that it replaces. */
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
  /** The columns that the constraint reads. */
  readonly columns: readonly string[];
  readonly expression: string;
}

export interface LiveTable {
  /** The name in the data map. */
  readonly name: string;
  /** The quoted name with its schema. */
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
  /** The referring table: its name in the map if it is mapped, otherwise its name in the database. */
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
  /** Foreign keys from or to a mapped table. */
  readonly foreignKeys: readonly ForeignKey[];
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
