/**
 * Checks the data map against the database's current schema. Every request reads the schema again, so that a
 * migration cannot make it stale.
 */
import type { Checked } from "../../core/erasure/surrogate.ts";
import type { DataMap } from "../../core/erasure/data-map.ts";
import { fit, probes, type Fitted, type Probe } from "../../core/erasure/fit.ts";
import type { Session } from "../../storage/database.ts";
import { constant } from "./plan-queries.ts";
import { readPostgresSchema } from "./schema-postgres.ts";
import { passesChecks } from "./schema-queries.ts";
import { readSqliteSchema } from "./schema-sqlite.ts";
import { inSavepoint } from "./savepoint.ts";

export async function fitLive(session: Session, map: DataMap): Promise<Fitted> {
  const read = session.dialect.name === "postgres" ? readPostgresSchema : readSqliteSchema;
  const schema = await read(session, map);
  const accepted = new Map<string, Checked>();
  for (const probe of probes(map, schema)) accepted.set(probe.id, await tryOut(session, probe));
  return fit(map, schema, accepted);
}

/** A constraint that throws an error counts as one that refuses the value. */
async function tryOut(session: Session, { column, type, expressions, candidates }: Probe): Promise<Checked> {
  for (const value of candidates) {
    const statement = passesChecks(column, constant(session.dialect, type, value), expressions);
    const rows = await inSavepoint(session, "amends_probe", () => session.query(statement)).catch(() => []);
    if (rows.length > 0) return { passes: value };
  }
  return { passes: undefined };
}
