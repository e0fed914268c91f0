/**
 * The database's error inside the error of a client. Clients wrap it: in `cause` (Drizzle, MikroORM), `driverError`
 * (TypeORM), `parent` (Sequelize), `meta.driverAdapterError` and `originalCode` (Prisma). Bun has the SQLSTATE in `errno`.
 */
import { isSqlState, isSystemCode } from "../postgres/trouble.ts";

const PLACES = ["cause", "driverError", "parent", "original", "meta", "driverAdapterError"] as const;
const DEPTH_MAX = 6;
/** Prisma's own codes have the form of a SQLSTATE. */
const PRISMA = /^P\d{4}$/;
/** Bun's own codes for what the network reported. */
const BUN_NETWORK = "ERR_POSTGRES_CONNECTION_";

/** The innermost error that a SQLSTATE or a network code names; the error itself if there is none. */
export function unwrapped(error: unknown): unknown {
  try {
    return find(error, 0) ?? error;
  } catch {
    return error; // a getter that throws, a revoked proxy
  }
}

/** True if the database or the network reported the error, not the client. */
export function isDatabaseError(error: unknown): boolean {
  try {
    return find(error, 0) !== undefined;
  } catch {
    return false;
  }
}

function find(error: unknown, depth: number): unknown {
  if (typeof error !== "object" || error === null || depth > DEPTH_MAX) return undefined;
  const found = error as Readonly<Record<string, unknown>>;
  for (const place of PLACES) {
    const inner = find(found[place], depth + 1);
    if (inner !== undefined) return inner;
  }
  if (isDatabaseCode(found["code"])) return error;
  const { originalCode, originalMessage, errno, message } = found;
  if (isDatabaseCode(errno)) return { ...found, code: errno, message };
  return isDatabaseCode(originalCode) ? { code: originalCode, message: originalMessage } : undefined;
}

function isDatabaseCode(code: unknown): boolean {
  if (typeof code !== "string" || PRISMA.test(code)) return false;
  return code.startsWith(BUN_NETWORK) || isSqlState(code) || isSystemCode(code);
}
