/** Finds the rights that a login lacks, before work begins or after the database has refused a statement. */
import { AmendsError } from "../../../core/errors.ts";
import type { Database } from "../../database.ts";
import { persist } from "../../retry.ts";
import { listRights, MISSING, roleName, selectMissing, type MissingRight, type Role } from "./rights.ts";

/** The rights of a role that the login lacks; none on a database without rights. */
export async function missingRights(
  db: Pick<Database, "dialect" | "query" | "clock">,
  role: Role,
): Promise<readonly MissingRight[]> {
  if (db.dialect.name !== "postgres") return [];
  const rows = await persist(db, () => db.query(selectMissing(db.dialect, role.grants)));
  return rows.map((row) => MISSING.read(row));
}

/** Throws if the login lacks rights of a role; the error lists them. */
export async function checkRights(
  db: Database,
  role: Role,
  what: string,
  advice: (login: string) => string = (login) =>
    `Run \`migrate({ roles: true })\` once, then \`grant ${roleName(db.dialect, role)} to "${login}"\`.`,
): Promise<void> {
  const missing = await missingRights(db, role);
  const [first] = missing;
  if (!first) return;
  const { login } = first;
  throw new AmendsError(
    "DATABASE_FORBIDDEN",
    `The login "${login}" lacks rights that ${what} needs: ${listRights(missing)}. ${advice(login)}`,
    {
      login,
      role: roleName(db.dialect, role),
      missing: missing.map(({ right, table, column }) => ({ right, table, column })),
    },
  );
}
