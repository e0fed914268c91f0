/** A database from what people write: a PostgreSQL URL, or a SQLite file. The driver is loaded when it is known which. */
import { closeSync, existsSync, openSync, readSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { postgres as Postgres } from "../../postgres.ts";
import type { Database } from "../../storage/database.ts";
import { Trouble, UsageError } from "../program/failure.ts";

export interface Place {
  readonly kind: "postgres" | "sqlite";
  /** The URL, or the file. */
  readonly at: string;
  /** For people: without user and password. */
  readonly shown: string;
}

export interface Tables {
  /** PostgreSQL: the schema of the tables. */
  readonly schema?: string | undefined;
  /** SQLite: what their names begin with. */
  readonly prefix?: string | undefined;
}

const SCHEME = /^([a-z][a-z0-9+.-]+):/i;

export function readPlace(text: string, folder: string): Place {
  const given = text.trim(); // a stray blank in an environment file must not make a file's name of a URL
  const scheme = SCHEME.exec(given)?.[1]?.toLowerCase();
  if (scheme === "postgres" || scheme === "postgresql") return readUrl(given);
  if (given === ":memory:" || scheme === undefined || isDrive(given)) return filePlace(given, folder);
  if (scheme === "file") return filePlace(fileURLToPath(given), folder);
  if (scheme === "sqlite") return filePlace(given.slice("sqlite:".length).replace(/^\/\//, ""), folder);
  throw new UsageError(`A database is a postgres:// URL or a SQLite file; ${scheme}: is neither.`);
}

function isDrive(given: string): boolean {
  return /^[a-z]:[\\/]/i.test(given);
}

function filePlace(given: string, folder: string): Place {
  if (given === "" || given.includes("\0")) throw new UsageError("The name of a SQLite file is missing.");
  return { kind: "sqlite", at: given === ":memory:" ? given : resolve(folder, given), shown: given };
}

function readUrl(given: string): Place {
  if (!URL.canParse(given)) {
    throw new UsageError(
      "This PostgreSQL URL cannot be read. It looks like postgres://user:password@host:5432/database; characters such as @ / # in a password are written as %40 %2F %23.",
    );
  }
  const { host, pathname, searchParams } = new URL(given);
  const server = host === "" ? (searchParams.get("host") ?? "localhost") : host;
  return { kind: "postgres", at: given, shown: `${decode(pathname.slice(1)) || "postgres"} on ${server}` };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** `mayCreate` where a new SQLite file is welcome: a misspelt name must not become an empty database. */
export async function openPlace(place: Place, tables: Tables, mayCreate: boolean): Promise<Database> {
  const { schema, prefix } = tables;
  if (place.kind === "postgres") {
    if (prefix !== undefined) throw new UsageError("--prefix is for SQLite; PostgreSQL has --schema.");
    const { postgres } = await driver();
    return postgres({ url: place.at, ...(schema !== undefined && { schema }) });
  }
  if (schema !== undefined) throw new UsageError("--schema is for PostgreSQL; SQLite has --prefix.");
  refuseMissing(place, mayCreate);
  refuseForeign(place);
  const { sqlite } = await import("../../sqlite.ts");
  return sqlite(place.at, { ...(prefix !== undefined && { prefix }) });
}

function refuseMissing({ at, shown }: Place, mayCreate: boolean): void {
  if (at === ":memory:" || existsSync(at)) return;
  if (!existsSync(dirname(at)))
    throw new Trouble(
      "DATABASE_MISSING",
      `There is no folder for the SQLite file ${shown}.`,
      "Create it first.",
    );
  if (mayCreate) return;
  throw new Trouble(
    "DATABASE_MISSING",
    `There is no SQLite file ${shown}.`,
    `Check the file name. To create a new one: amends migrate --database ${shown}`,
  );
}

/** What every SQLite file begins with. One that is empty becomes a database with the first write. */
const MAGIC = "SQLite format 3\0";

function refuseForeign({ at, shown }: Place): void {
  if (at === ":memory:" || !existsSync(at)) return;
  const stat = statSync(at);
  if (stat.isFile() && (stat.size === 0 || beginningOf(at) === MAGIC)) return;
  throw new Trouble("NO_DATABASE", `${shown} is not a SQLite database.`, "Check the file name.");
}

function beginningOf(file: string): string {
  const bytes = Buffer.alloc(MAGIC.length);
  const handle = openSync(file, "r");
  try {
    readSync(handle, bytes, 0, bytes.length, 0);
  } finally {
    closeSync(handle);
  }
  return bytes.toString("latin1");
}

async function driver(): Promise<{ readonly postgres: typeof Postgres }> {
  try {
    return await import("../../postgres.ts");
  } catch (error) {
    if ((error as { code?: unknown }).code !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new Trouble(
      "DRIVER_MISSING",
      "PostgreSQL needs the package pg, which is not installed.",
      "npm install pg",
      {
        cause: error,
      },
    );
  }
}
