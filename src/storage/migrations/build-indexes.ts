/**
 * Builds the indexes of a migration outside of a transaction. An interrupted build leaves an index that is not valid, which is
 * dropped and built again. Several processes may do this at once: one builds, and the others wait for it.
 */
import { sleep } from "../clock.ts";
import type { Database, Dialect } from "../database.ts";
import { raw, sql, type Sql } from "../sql.ts";
import { insertApplied } from "./applied.ts";
import { concurrentStatements, type NewIndex } from "./new-index.ts";
import type { Migration } from "./migration.ts";

/** Another process has begun meanwhile: the index exists, was dropped, or is locked. */
const RACED = new Set(["42P07", "42704", "55P03", "40P01", "23505"]);
const LOOK_AGAIN_MS = 500;

export async function buildIndexes(db: Database, migration: Migration): Promise<void> {
  for (const index of migration.indexes ?? []) await build(db, index);
  await db.query(insertApplied(db.dialect, migration, db.dialect.now()));
}

async function build(db: Database, index: NewIndex): Promise<void> {
  for (;;) {
    const [found] = await db.query(selectIndex(db.dialect, index));
    if (found?.["valid"] === true) return;
    if (found?.["building"] !== true) {
      try {
        for (const statement of concurrentStatements(db.dialect, index)) await db.alone?.(raw(statement));
        return;
      } catch (error) {
        if (!RACED.has(String((error as { code?: unknown }).code))) throw error;
      }
    }
    await sleep(db.clock, LOOK_AGAIN_MS, undefined);
  }
}

function selectIndex(dialect: Dialect, { name }: NewIndex): Sql {
  const full = dialect.table(name).text;
  return sql`select i.indisvalid as valid,
      exists (select 1 from pg_stat_progress_create_index as p where p.index_relid = i.indexrelid) as building
    from pg_index as i where i.indexrelid = to_regclass(${full}::text)`;
}
