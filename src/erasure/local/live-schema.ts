/**
 * Checks the data map against the database's current schema. Every request reads the schema again, so that a
 * migration cannot make it stale.
 */
import type { Checked } from "../../core/erasure/surrogate.ts";
import type { DataMap } from "../../core/erasure/data-map.ts";
import { fit, probes, type Fitted, type Probe } from "../../core/erasure/fit.ts";
import type { Dialect, Row } from "../../storage/database.ts";
import type { Work } from "../../storage/joins/work.ts";
import type { Sql } from "../../storage/sql.ts";
import { constant } from "./plan-queries.ts";
import { readPostgresSchema } from "./schema-postgres.ts";
import { passesChecks } from "./schema-queries.ts";
import { readSqliteSchema } from "./schema-sqlite.ts";
import { inSavepoint } from "../../storage/joins/savepoint.ts";

export function* fitLive(dialect: Dialect, map: DataMap): Work<Fitted> {
  const read = dialect.name === "postgres" ? readPostgresSchema : readSqliteSchema;
  const schema = yield* read(dialect, map);
  const accepted = new Map<string, Checked>();
  for (const probe of probes(map, schema)) accepted.set(probe.id, yield* tryOut(dialect, probe));
  return fit(map, schema, accepted);
}

function* tryOut(dialect: Dialect, { column, type, expressions, candidates }: Probe): Work<Checked> {
  for (const value of candidates) {
    const statement = passesChecks(column, constant(dialect, type, value), expressions);
    if (yield* passes(statement)) return { passes: value };
  }
  return { passes: undefined };
}

/** A constraint that throws an error counts as one that refuses the value. */
function* passes(statement: Sql): Work<boolean> {
  try {
    const rows = yield* inSavepoint("amends_probe", function* (): Work<readonly Row[]> {
      return yield statement;
    });
    return rows.length > 0;
  } catch {
    return false;
  }
}
