/**
 * Names the rights that a login lacks, once the server has refused a statement for one: the server itself names only the table.
 */
import { AmendsError } from "../../../core/errors.ts";
import type { Database } from "../../database.ts";
import { APPLICATION_RIGHTS, PROCESSES } from "../../migrations/process-rights.ts";
import { factsOf, refusal } from "../../refusal.ts";
import { sql } from "../../sql.ts";
import { listRights, MISSING, schemaOf, selectMissing, type Grants } from "./rights.ts";

type Asked = Pick<Database, "dialect" | "query">;

const DENIED = /^permission denied for (table|view|relation|schema|database) "?([\w$.-]+?)"?$/;

/** The error for a statement that the server has refused because of a right. */
export async function forbidden(
  db: Pick<Database, "dialect"> & Partial<Asked>,
  error: unknown,
): Promise<AmendsError> {
  const { dialect, query } = db;
  const [said, kind = "", name = ""] = DENIED.exec(String((error as { message?: unknown }).message)) ?? [];
  const asked = dialect.name === "postgres" && query ? (db as Asked) : undefined;
  const told = asked && (await tell(asked, kind, name).catch(() => undefined));
  if (told === undefined) return refusal({ dialect }, "DATABASE_FORBIDDEN", error);
  const facts = factsOf(error);
  const message = `${told} (SQLSTATE ${facts.cause}, ${said})`;
  return new AmendsError("DATABASE_FORBIDDEN", message, { ...facts }, { cause: error });
}

async function tell(db: Asked, kind: string, name: string): Promise<string | undefined> {
  const schema = schemaOf(db.dialect);
  const [row] = await db.query(sql`select current_user::text as login`);
  const login = String(row?.["login"]);
  const grants = `\`amends migrate --print-grants ${login}\` prints the grants.`;
  if (kind === "database") {
    const run = `Run \`amends migrate\` as the owner, then grant this login its rights: \`amends migrate --print-grants ${login}\`.`;
    const owned = `Only a login that shall own the tables needs: create schema ${schema} authorization "${login}"`;
    return `There is no schema ${schema}, and the login "${login}" may not create it. ${run} ${owned}`;
  }
  if (kind === "schema") return `The login "${login}" lacks usage or create on the schema ${name}. ${grants}`;
  if (kind === "") return undefined;
  const missing = await missingOn(db, name);
  return missing === "" ? undefined : `The login "${login}" lacks rights: ${missing}. ${grants}`;
}

/** Those of an application first; retention needs more. */
async function missingOn(db: Asked, table: string): Promise<string> {
  for (const { grants } of [APPLICATION_RIGHTS, PROCESSES.retention]) {
    const rights = grants[table];
    if (!rights) continue;
    const wanted: Grants = { [table]: rights };
    const rows = await db.query(selectMissing(db.dialect, wanted));
    if (rows.length > 0) return listRights(rows.map((row) => MISSING.read(row)));
  }
  return "";
}
