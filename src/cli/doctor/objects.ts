/**
 * Whether the tables and indexes that the migrations made are still there: a table of migrations that is complete says
 * nothing of an object that was dropped by hand.
 */
import type { Database } from "../../storage/database.ts";
import { allStatements } from "../../storage/migrations/migration.ts";
import { readObjects } from "../../storage/read/diagnosis.ts";
import { ok, wrong, type Finding } from "./finding.ts";

interface Expected {
  readonly kind: "table" | "index";
  readonly name: string;
  /** What makes it. */
  readonly statement: string;
}

const CREATES = /^\s*create (?:unique )?(table|index) (?:if not exists )?(\S+)/i;
const DROPS = /^\s*drop (?:table|index) (?:if exists )?(\S+)/i;

export async function objectsOf(db: Database): Promise<readonly Finding[]> {
  const found = await readObjects(db);
  const missing = expectedIn(allStatements(db.dialect)).filter(({ name }) => !found.has(name));
  const tables = missing.filter(({ kind }) => kind === "table");
  const indexes = missing.filter(({ kind }) => kind === "index");
  return [
    tables.length === 0
      ? ok("tables", "all of them exist")
      : wrong(
          "tables",
          `missing: ${tables.map(({ name }) => name).join(", ")}`,
          "Their rows are lost: restore them from a backup.",
        ),
    indexes.length === 0
      ? ok("indexes", "all of them exist")
      : wrong(
          "indexes",
          `missing: ${indexes.map(({ name }) => name).join(", ")}`,
          `Create them: ${indexes.map(({ statement }) => `${oneLine(statement)};`).join(" ")}`,
        ),
  ];
}

function expectedIn(statements: readonly string[]): readonly Expected[] {
  const expected = new Map<string, Expected>();
  for (const statement of statements) {
    const [, kind, name = ""] = CREATES.exec(statement) ?? [];
    if (kind !== undefined) expected.set(bare(name), { kind: kind as "table", name: bare(name), statement });
    const dropped = DROPS.exec(statement)?.[1];
    if (dropped !== undefined) expected.delete(bare(dropped));
  }
  return [...expected.values()];
}

/** Without the schema, and without what follows directly. */
function bare(name: string): string {
  return (name.split(".").at(-1) ?? name).replaceAll(/["(].*$/g, "");
}

function oneLine(statement: string): string {
  return statement.replaceAll(/\s+/g, " ").trim();
}
