/** Whether indexes serve the statements that run all the time: a scan of a table that only grows is slow in the end. */
import type { Database } from "../../storage/database.ts";
import { brokenIndexes, scansOf, tableSizes } from "../../storage/read/diagnosis.ts";
import { ok, warn, wrong, type Finding } from "./finding.ts";
import { hotStatements } from "./hot-statements.ts";

/** Below this a scan costs nothing, and a planner may well choose it. */
const LARGE = 10_000;

export async function plansOf(db: Database): Promise<readonly Finding[]> {
  const statements = hotStatements(db.dialect);
  const scans: (readonly [statement: string, table: string])[] = [];
  for (const [name, statement] of statements)
    for (const table of await scansOf(db, statement)) if (isLarge(table)) scans.push([name, table]);
  const toText = (found: typeof scans): readonly string[] =>
    found.map(([statement, table]) => `${statement} reads all of ${table}`);
  if (db.dialect.name === "sqlite") return [planFinding(statements.length, toText(scans), toText(scans))];
  const sizes = await tableSizes(db);
  const large = scans.filter(([, table]) => (sizes.get(table) ?? 0) > LARGE);
  const broken = await brokenIndexes(db);
  const advice = "Build them again: reindex index concurrently …";
  return [
    planFinding(statements.length, toText(scans), toText(large)),
    ...(broken.length === 0 ? [] : [wrong("indexes", `not valid: ${broken.join(", ")}`, advice)]),
  ];
}

function planFinding(count: number, scans: readonly string[], large: readonly string[]): Finding {
  const check = "plans";
  if (scans.length === 0) return ok(check, `indexes serve all ${count} hot statements`);
  const advice = "The planner does not use an index: run ANALYZE, then doctor again.";
  return large.length > 0 ? wrong(check, large.join("; "), advice) : warn(check, scans.join("; "), advice);
}

/** Whether the name is that of a table that grows, or the alias of one. One row and what a statement made itself are none. */
function isLarge(name: string): boolean {
  return TABLES.test(name);
}

const TABLES =
  /saga_executions|saga_logs|outbox|saga_state|schedules|schedule_ticks|webhook_(?:delivery_sagas|jobs|attempts|events)|^(?:c|due|s|j|x)$/;
