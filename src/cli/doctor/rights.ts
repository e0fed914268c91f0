/** Checks the rights of this login, and what the database refuses to record. */
import type { Database } from "../../storage/database.ts";
import { APPLICATION_RIGHTS } from "../../storage/migrations/process-rights.ts";
import { missingRights } from "../../storage/postgres/rights/check-rights.ts";
import { listRights } from "../../storage/postgres/rights/rights.ts";
import { readOldest } from "../../storage/read/selection.ts";
import { reportedRefusals } from "../../storage/write/refused-writes.ts";
import { many } from "../terminal/words.ts";
import { ok, warn, wrong, type Finding } from "./finding.ts";

const REFUSALS_MAX = 10;

/** A login that runs some parts only may lack the others' rights: a warning. */
export async function rightsOf(db: Database): Promise<readonly Finding[]> {
  if (db.dialect.name !== "postgres") return [];
  const missing = await missingRights(db, APPLICATION_RIGHTS);
  if (missing.length === 0) return [ok("rights", "this login has the rights of an application")];
  const advice = "Grant what its parts need: amends migrate --print-grants LOGIN prints the grants.";
  return [warn("rights", `this login lacks: ${listRights(missing)}`, advice)];
}

export async function refusalsOf(db: Database): Promise<readonly Finding[]> {
  const refused = await readOldest(db, reportedRefusals, REFUSALS_MAX, undefined);
  return refused.map(({ record: { operation, said, state, waiting, advice } }) =>
    wrong(
      "refusals",
      `the database refuses to record ${many(waiting, "outcome")} of ${operation}: ${said} ${state}`.trim(),
      advice,
    ),
  );
}
