/** What a migration is, and all migrations of this version. */
import { createHash } from "node:crypto";
import type { Dialect } from "../database.ts";
import { initial } from "./0001-initial.ts";
import { concurrentStatements, plainStatement, type NewIndex } from "./new-index.ts";

export interface Migration {
  readonly id: number;
  readonly name: string;
  /** True if a worker that does not know this migration must not run beside it. Default: false. */
  readonly isBreaking?: boolean;
  /** They run in a transaction, together with the other migrations that are due. */
  readonly statements?: (dialect: Dialect) => readonly string[];
  /**
   * Instead of statements: indexes of tables that may be large. PostgreSQL builds them without a lock that would stop
   * writes, which is possible only outside of a transaction. Until they exist, statements are slower, and nothing else.
   */
  readonly indexes?: readonly NewIndex[];
}

/**
 * All migrations of this version, in order. A released migration never changes: its checksum is in every database.
 */
export const MIGRATIONS: readonly Migration[] = [
  { id: 1, name: "initial", isBreaking: true, statements: initial },
];

export function statementsOf(migration: Migration, dialect: Dialect): readonly string[] {
  const { statements, indexes = [] } = migration;
  if (statements) return statements(dialect);
  return isConcurrent(migration, dialect)
    ? indexes.flatMap((index) => concurrentStatements(dialect, index))
    : indexes.map((index) => plainStatement(dialect, index));
}

/** True if it runs outside of a transaction. SQLite has one writer, so that nothing is gained there. */
export function isConcurrent({ indexes }: Migration, dialect: Dialect): boolean {
  return indexes !== undefined && dialect.name === "postgres";
}

export function checksumOf(migration: Migration, dialect: Dialect): string {
  const text = statementsOf(migration, dialect).join(";\n");
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

/** The statements of all migrations in order: the schema of an up-to-date database. */
export function allStatements(dialect: Dialect): readonly string[] {
  return MIGRATIONS.flatMap((migration) => statementsOf(migration, dialect));
}
