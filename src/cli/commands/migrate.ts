/** `amends migrate`: runs the migrations, or prints them, or the grants that logins need. */
import { systemClock } from "../../storage/clock.ts";
import type { Dialect } from "../../storage/database.ts";
import { migrate as apply, readMigrations } from "../../storage/migrations/migrate.ts";
import { printGrants, printMigrations } from "../../storage/migrations/print.ts";
import { PROCESSES, type ProcessName } from "../../storage/migrations/process-rights.ts";
import { postgresDialect } from "../../storage/postgres/dialect.ts";
import { checkSchemaName } from "../../storage/postgres/schema-name.ts";
import { sqliteDialect } from "../../storage/sqlite/dialect.ts";
import { command, flag, number, text, type Command } from "../program/command.ts";
import { UsageError } from "../program/failure.ts";
import { ink, paint } from "../terminal/ink.ts";
import { JSON_OUT } from "../program/shared-options.ts";
import { DATABASE, openLocal } from "../source/source.ts";
import { many } from "../terminal/words.ts";

const NEWEST = 9_999;

export const migrate: Command = command({
  name: "migrate",
  group: "Set up",
  summary: "Runs Amends' migrations. Safe to run twice, and from several processes at once.",
  about:
    "With --print or --print-grants it prints SQL for a tool of your own and needs no database: what that tool applies is accepted as it is.",
  options: {
    ...DATABASE,
    roles: flag("PostgreSQL: also creates the roles of webhook delivery."),
    "dry-run": flag("Prints the missing migrations; with --json, their SQL. Exits with 3 if there are any."),
    print: flag("Prints the migrations as SQL, with the rows that record them. Needs no database."),
    from: number("N", "With --print: migration N and later ones. Default: 1.", 1, NEWEST),
    concurrent: flag("With --print: only the indexes that are built outside of a transaction."),
    dialect: text("NAME", "With --print: the database. Default: postgres.", ["postgres", "sqlite"]),
    "print-grants": text("ROLE", "PostgreSQL: prints the grants that this role needs. Needs no database."),
    for: text(
      "PROCESS",
      "With --print-grants: only the rights of this kind of process. Default: all but retention.",
      Object.keys(PROCESSES),
    ),
    ...JSON_OUT,
  },
  examples: [
    ["amends migrate", "the database of amends.config.ts or DATABASE_URL"],
    ["amends migrate --database shop.db", "a SQLite file, made if there is none"],
    ["amends migrate --dry-run --json", "the SQL that would run"],
    ["amends migrate --print > 0007_amends.sql", "for psql, Flyway, drizzle-kit or Prisma"],
    ["amends migrate --print-grants shop_app | psql", "least privilege for the application's login"],
  ],
  run: async ({ options, output, world }) => {
    const printed = printedOf(options);
    if (printed !== undefined) {
      output.document({ sql: printed });
      if (!output.isJson) world.out(printed);
      return 0;
    }
    const dry = options["dry-run"];
    if (dry && options.roles)
      throw new UsageError("--dry-run looks at tables only: leave --roles out.", "migrate");
    const { amends, database, shown } = await openLocal(options, world, { mayCreate: !dry });
    try {
      if (dry) {
        const { applied, missing } = await readMigrations(database);
        output.document({ applied, missing });
        for (const { name, statements } of missing)
          output.say(
            ink`${paint("yellow", "missing")}  ${name} ${paint("dim", `(${many(statements.length, "statement")})`)}`,
          );
        if (missing.length === 0) output.say(ink`${paint("green", "up to date")}: ${shown}`);
        return missing.length === 0 ? 0 : 3;
      }
      const applied = await output.progress("migrating", () => apply(database, { roles: options.roles }));
      output.document({ applied, roles: options.roles });
      for (const name of applied) output.say(ink`${paint("green", "applied")}  ${name}`);
      if (applied.length === 0) output.say(ink`${paint("green", "up to date")}: ${shown}`);
      if (options.roles) output.say(ink`${paint("green", "granted")}  the roles of webhook delivery`);
      return 0;
    } finally {
      await amends.close();
    }
  },
});

interface Printing {
  readonly print: boolean;
  readonly from: number | undefined;
  readonly concurrent: boolean;
  readonly dialect: string | undefined;
  readonly "print-grants": string | undefined;
  readonly for: string | undefined;
  readonly schema: string | undefined;
  readonly prefix: string | undefined;
}

/** Undefined if nothing is to be printed. */
function printedOf(options: Printing): string | undefined {
  const { print, from, concurrent, for: process, "print-grants": role } = options;
  if (!print && (from !== undefined || concurrent || options.dialect !== undefined))
    throw new UsageError("--from, --concurrent and --dialect belong to --print.", "migrate");
  if (role === undefined && process !== undefined)
    throw new UsageError("--for belongs to --print-grants.", "migrate");
  if (role !== undefined && print)
    throw new UsageError("Choose one of --print and --print-grants.", "migrate");
  if (role !== undefined) return printGrants(dialectOf(options), role, process as ProcessName | undefined);
  if (!print) return undefined;
  return printMigrations(dialectOf(options), { concurrent, ...(from !== undefined && { from }) });
}

function dialectOf({ dialect = "postgres", schema = "amends", prefix = "amends_" }: Printing): Dialect {
  if (dialect === "sqlite") return sqliteDialect(prefix, systemClock);
  checkSchemaName(schema);
  return postgresDialect(schema, systemClock, true);
}
