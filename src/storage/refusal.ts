/**
 * The error that a caller, a log and `amends doctor` get for a database error: what happened, the database's own code,
 * and what to do. It names codes, tables and constraints and never a value: values may be personal data, and they stand
 * in the messages of some classes of errors.
 */
import { AmendsError } from "../core/errors.ts";
import type { Dialect } from "./database.ts";

/** The facts of a database error that never contain values. */
export interface CauseFacts {
  /** SQLSTATE on PostgreSQL, otherwise the code of the system or of SQLite. */
  readonly cause?: string;
  readonly table?: string;
  readonly column?: string;
  readonly constraint?: string;
  /** Host and port that were tried. */
  readonly address?: string;
}

export function refusal(
  { dialect, address }: { readonly dialect: Pick<Dialect, "name">; readonly address?: string | undefined },
  code: AmendsError["code"],
  cause: unknown,
): AmendsError {
  const tried = code === "DATABASE_UNREACHABLE" && address !== undefined ? { address } : {};
  const facts: CauseFacts = { ...factsOf(cause), ...tried };
  return new AmendsError(code, messageOf(dialect.name, code, cause, facts), { ...facts }, { cause });
}

const CODE = /^[A-Z0-9_]{2,40}$/;
const NAME = /^[\w$."-]{1,128}$/;

export function factsOf(cause: unknown): CauseFacts {
  try {
    const given = (cause ?? {}) as Readonly<Record<string, unknown>>;
    const first = (given["errors"] as readonly { code?: unknown }[] | undefined)?.[0]?.code;
    // Node's driver of SQLite has a number of its own; other drivers and PostgreSQL have a text.
    const sqlite = typeof given["errcode"] === "number" ? `SQLITE_${given["errcode"]}` : undefined;
    const code = sqlite ?? [given["code"], first].find((one) => typeof one === "string" && CODE.test(one));
    const named = (key: "table" | "column" | "constraint"): CauseFacts => {
      const name = given[key];
      return typeof name === "string" && NAME.test(name) ? { [key]: name } : {};
    };
    return {
      ...(code !== undefined && { cause: code as string }),
      ...named("table"),
      ...named("column"),
      ...named("constraint"),
    };
  } catch {
    return {}; // a getter that throws, a revoked proxy
  }
}

const UNREACHABLE =
  "Check its address and that it runs. If this was a start, start it again with the same id: nothing is done twice.";

/** PgBouncer, and poolers like it, report their own errors as 08P01. */
const POOLER =
  'If it refuses a startup parameter, remove the parameter from the URL and from `connection`, and pass `pooler: "transaction"` to `postgres`. Its log has more (docs/guides/postgres.md, Poolers).';

/** A session that is not the one that prepared the statement. */
const OTHER_SESSION =
  'A connection pooler has changed the session of the server. Pass `pooler: "transaction"` to `postgres`, or a URL that leads to the server itself.';

const CONFLICT = "Two transactions conflicted. The work is repeated.";

/** What to do about an error of the server, by its SQLSTATE. */
const BY_STATE: Readonly<Record<string, string>> = {
  "26000": OTHER_SESSION,
  "42P05": OTHER_SESSION,
  "42P07":
    "The table exists, but the table of migrations does not list it. Run `migrate()` with the schema that made it, or with another `schema`.",
  "40001": CONFLICT,
  "40P01": CONFLICT,
  "55P03":
    "Another transaction has held a lock on a row for longer than `lock_timeout`. The work is repeated; end the other transaction.",
  "57014": "The statement took longer than `statementTimeout`. The work is repeated.",
  "53100": "The server's disk is full. Free space; the work continues by itself.",
  "53300": "The server has no free connection. Lower `connections`, or raise the server's `max_connections`.",
};

function messageOf(
  dialect: Dialect["name"],
  code: AmendsError["code"],
  cause: unknown,
  facts: CauseFacts,
): string {
  const parts = [
    facts.cause !== undefined &&
      (isState(facts.cause) ? `SQLSTATE ${facts.cause}` : facts.cause.replace(/^SQLITE_/, "SQLite code ")),
    ...(["table", "column", "constraint"] as const).map((key) => facts[key] && `${key} ${facts[key]}`),
    harmlessText(cause, facts.cause),
  ].filter((part) => part !== undefined && part !== false && part !== "");
  const why = parts.length === 0 ? "" : ` (${parts.join(", ")})`;
  const advice = BY_STATE[facts.cause ?? ""];
  if (facts.cause === "08P01") return `The connection was refused by a pooler${why}. ${POOLER}`;
  switch (code) {
    case "DATABASE_UNREACHABLE":
      return dialect === "sqlite"
        ? `The SQLite database could not be opened or written${why}: its folder does not exist, the disk is full, or another connection keeps it locked. If this was a start, start it again with the same id: nothing is done twice.`
        : `The database${facts.address === undefined ? "" : ` at ${facts.address}`} could not be reached, or did not answer in time${why}. ${advice ?? UNREACHABLE}`;
    case "DATABASE_READ_ONLY":
      return "The database is read-only (a standby, or a file without write permission). Connect to the primary.";
    case "SCHEMA_MISSING":
      return "Amends' tables do not exist. Run `await amends.migrate()` once before anything else.";
    case "DATABASE_FORBIDDEN":
      return `The database login lacks a right${why}. docs/guides/webhooks.md lists the rights of each part, and docs/guides/postgres.md those of a process that runs all of them.`;
    default:
      return `The database refused a statement${why}. ${advice ?? "The server's log has the statement; the error's `cause` has the driver's message."}`;
  }
}

const STATE = /^[0-9A-Z]{5}$/;

function isState(code: string): boolean {
  return STATE.test(code) && !code.startsWith("E");
}

/** The classes of SQLSTATE whose messages name objects, settings and logins, and never values of rows. */
const NAMES_ONLY = /^(?:08|25|26|28|3D|3F|42|53|55|57)/;

/** The messages of SQLite that name an object or a setting. */
const SQLITE_NAMES = /^(?:no such (?:table|column|index): [\w.]+|attempt to write a readonly database)$/;

function harmlessText(cause: unknown, code: string | undefined): string | undefined {
  const { message } = (cause ?? {}) as { message?: unknown };
  if (code === undefined || typeof message !== "string") return undefined;
  const isHarmless = isState(code) ? NAMES_ONLY.test(code) : SQLITE_NAMES.test(message);
  return isHarmless ? message.slice(0, 200) : undefined;
}

/** The database's own code, and its words if they cannot hold a value; otherwise the message of the error. */
export function whatWasSaid({ cause, message }: AmendsError): {
  readonly state: string;
  readonly said: string;
} {
  const { cause: state } = factsOf(cause);
  return { state: state ?? "", said: harmlessText(cause, state) ?? message };
}
