/** Roles of PostgreSQL. */
import { AmendsError } from "../../../core/errors.ts";
import type { Dialect, Session } from "../../database.ts";
import { raw } from "../../sql.ts";

const ROLE = /^[A-Za-z_]\w{0,62}$/;

/** Throws if the text is not a plain role name. */
export function checkRole(dialect: Dialect, role: string): string {
  if (dialect.name === "postgres" && ROLE.test(role)) return role;
  throw new AmendsError(
    "BAD_OPTION",
    "`role` must be the plain name of a role of PostgreSQL; SQLite has none.",
  );
}

/** Until the transaction ends. */
export async function setRole(session: Session, role: string): Promise<void> {
  await session.query(raw(`set local role "${checkRole(session.dialect, role)}"`));
}
