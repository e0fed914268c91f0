/** An index that a migration adds to a table that may be large. */
import type { Dialect } from "../database.ts";
import { ddlOf } from "./ddl.ts";

export interface NewIndex {
  readonly name: string;
  readonly table: string;
  /** What follows the table: `(status, id) where …`. */
  readonly on: string;
}

/** In the transaction of the other migrations. */
export function plainStatement(dialect: Dialect, { name, table, on }: NewIndex): string {
  const ddl = ddlOf(dialect);
  return ddl.index(name, `${ddl.table(table)} ${on}`);
}

/** Outside of a transaction, and repeatable: what an interrupted build left behind is dropped first. */
export function concurrentStatements(dialect: Dialect, index: NewIndex): readonly string[] {
  const { name, table, on } = index;
  return [
    `drop index concurrently if exists ${dialect.table(name).text}`,
    `create index concurrently ${name} on ${dialect.table(table).text} ${on}`,
  ];
}
