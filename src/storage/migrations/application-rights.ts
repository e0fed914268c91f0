/**
 * Roles for the processes of an application. A worker checks the rights of its duties before it begins: a right that is missing
 * at a checkpoint would stop the work that needs it.
 */
import { AmendsError } from "../../core/errors.ts";
import { refuseUnknown } from "../../core/options.ts";
import type { Database } from "../database.ts";
import { checkRights } from "../postgres/rights/check-rights.ts";
import { together, type Grants, type Role } from "../postgres/rights/rights.ts";
import {
  BULK_RIGHTS,
  CALL_RIGHTS,
  ERASURE_RIGHTS,
  EVENT_RIGHTS,
  PROCESSES,
  SAGA_RIGHTS,
  SCHEDULE_RIGHTS,
  type ProcessName,
} from "./process-rights.ts";

/** Roles that exist, or are made, and get the rights of these processes. */
export type RoleNames = Readonly<Partial<Record<ProcessName, string>>>;

const NAME = /^[A-Za-z_][\w$-]{0,62}$/;

/** One role may be that of several processes: it gets the rights of all of them. */
export function rolesOf(given: RoleNames): readonly Role[] {
  refuseUnknown(given, Object.keys(PROCESSES), "migrate({ grants })");
  const byName = new Map<string, Grants>();
  for (const [process, name] of Object.entries(given)) {
    checkRoleName(name);
    byName.set(name, together(byName.get(name) ?? {}, PROCESSES[process as ProcessName].grants));
  }
  return [...byName].map(([name, grants]) => ({ name, grants }));
}

/** Names that mean no role of their own, also between quotes. */
const NO_ROLES: ReadonlySet<string> = new Set(["public", "none"]);

export function checkRoleName(name: string): void {
  if (NO_ROLES.has(name)) {
    throw new AmendsError(
      "BAD_OPTION",
      `"${name}" is not a role of its own in PostgreSQL. Name the login or the role of the process.`,
    );
  }
  if (typeof name === "string" && NAME.test(name)) return;
  throw new AmendsError(
    "BAD_OPTION",
    `${JSON.stringify(name)} is not the name of a role: letters, digits, "_", "$" and "-", up to 63 characters.`,
  );
}

const DUTIES: Readonly<Record<string, Role>> = {
  sagas: SAGA_RIGHTS,
  schedules: SCHEDULE_RIGHTS,
  events: EVENT_RIGHTS,
  calls: CALL_RIGHTS,
  outbox: ERASURE_RIGHTS,
  bulk: BULK_RIGHTS,
};

/** Throws if the login lacks rights of this duty of a worker; the error lists them. */
export async function checkDutyRights(db: Database, duty: string): Promise<void> {
  const role = DUTIES[duty.split(":")[0] ?? ""];
  if (!role) return;
  await checkRights(
    db,
    role,
    duty,
    (login) => `\`amends migrate --print-grants ${login} --for worker\` prints the grants.`,
  );
}
