/** Whether indexes serve the statements that run all the time: a scan of a table that only grows is slow in the end. */
import type { Database } from "../../storage/database.ts";
import { brokenIndexes, explain, hotStatements, tableSizes } from "./queries.ts";
import { ok, warn, wrong, type Finding } from "./finding.ts";

interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly Plans?: readonly PlanNode[];
}

/** Below this a scan costs nothing, and a planner may well choose it. */
const LARGE = 10_000;

export async function plansOf(db: Database): Promise<readonly Finding[]> {
  const scans: string[] = [];
  let count = 0;
  for (const [name, statement] of hotStatements(db.dialect)) {
    const rows = await db.query(explain(db.dialect, statement));
    const found = db.dialect.name === "postgres" ? scannedIn(rows[0]?.["QUERY PLAN"]) : scannedBySqlite(rows);
    scans.push(...new Set(found.map((table) => `${name} reads all of ${table}`)));
    count += 1;
  }
  if (db.dialect.name === "sqlite") return [planFinding(count, scans, scans)];
  const schema = db.dialect.table("").text.replace(".", "");
  const sizes = new Map(
    (await db.query(tableSizes(schema))).map((row) => [row["name"], Number(row["rows"])]),
  );
  const large = scans.filter((scan) => (sizes.get(scan.split(" ").at(-1)) ?? 0) > LARGE);
  const broken = (await db.query(brokenIndexes(schema))).map((row) => row["name"] as string);
  return [
    planFinding(count, scans, large),
    ...(broken.length === 0
      ? []
      : [
          wrong(
            "indexes",
            `not valid: ${broken.join(", ")}`,
            "Build them again: reindex index concurrently …",
          ),
        ]),
  ];
}

function planFinding(count: number, scans: readonly string[], large: readonly string[]): Finding {
  const check = "plans";
  if (scans.length === 0) return ok(check, `indexes serve all ${count} hot statements`);
  const advice = "The planner does not use an index: run ANALYZE, then doctor again.";
  return large.length > 0 ? wrong(check, large.join("; "), advice) : warn(check, scans.join("; "), advice);
}

function scannedIn(plan: unknown): readonly string[] {
  const [whole] = (typeof plan === "string" ? JSON.parse(plan) : plan) as readonly {
    readonly Plan: PlanNode;
  }[];
  const nodes = (node: PlanNode): readonly PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodes)];
  const scans = whole ? nodes(whole.Plan).filter((node) => node["Node Type"] === "Seq Scan") : [];
  return [...new Set(scans.flatMap((node) => node["Relation Name"] ?? []))].filter(
    (name) => !SMALL.has(name),
  );
}

/** One row each, by their nature. */
const SMALL: ReadonlySet<string> = new Set(["webhook_turn"]);

/** Of a table that an index leads into SQLite says SEARCH; a partial index of open rows may be walked. */
function scannedBySqlite(rows: readonly Readonly<Record<string, unknown>>[]): readonly string[] {
  return rows
    .map((row) => /^SCAN (\S+)(?!.*USING)/.exec(String(row["detail"]))?.[1])
    .flatMap((name) => (name !== undefined && TABLES.test(name) ? [name] : []));
}

const TABLES =
  /saga_executions|saga_logs|outbox|saga_state|webhook_(?:delivery_sagas|jobs|attempts|events)|^(?:c|due|s|j|x)$/;
