/** `amends migrate`: runs the migrations, or prints what they would do. */
import { migrate as apply, readMigrations } from "../../storage/migrations/migrate.ts";
import { command, flag, type Command } from "../program/command.ts";
import { UsageError } from "../program/failure.ts";
import { ink, paint } from "../terminal/ink.ts";
import { JSON_OUT } from "../program/shared-options.ts";
import { DATABASE, openLocal } from "../source/source.ts";
import { many } from "../terminal/words.ts";

export const migrate: Command = command({
  name: "migrate",
  group: "Set up",
  summary: "Runs Amends' migrations. Safe to run twice, and from several processes at once.",
  options: {
    ...DATABASE,
    roles: flag("PostgreSQL: also creates the roles of webhook delivery."),
    "dry-run": flag("Prints the missing migrations; with --json, their SQL. Exits with 3 if there are any."),
    ...JSON_OUT,
  },
  examples: [
    ["amends migrate", "the database of amends.config.ts or DATABASE_URL"],
    ["amends migrate --database shop.db", "a SQLite file, made if there is none"],
    ["amends migrate --dry-run --json", "the SQL that would run"],
  ],
  run: async ({ options, output, world }) => {
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
