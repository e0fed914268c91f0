/**
 * What a command works on: a database that it opens, with or without the user's definitions, or a console that runs
 * elsewhere. The command line overrides the config, the config overrides the environment.
 */
import { dirname } from "node:path";
import { createAmends, type AmendsConfig } from "../config/config.ts";
import { text, type TextOption } from "../program/command.ts";
import { Trouble, UsageError } from "../program/failure.ts";
import { findConfig, loadConfig } from "../config/load-config.ts";
import { openPlace, readPlace, type Place } from "../config/open-database.ts";
import type { Database } from "../../storage/database.ts";
import type { Amends } from "../../operate/amends.ts";
import type { Logger } from "../../operate/log/logger.ts";
import type { World } from "../program/world.ts";

export const DATABASE: {
  readonly database: TextOption;
  readonly config: TextOption;
  readonly schema: TextOption;
  readonly prefix: TextOption;
} = {
  database: text("URL|FILE", "A PostgreSQL URL or a SQLite file."),
  config: text("FILE", "The config file. Default: amends.config.{ts,mts,js,mjs} in this folder."),
  schema: text("NAME", "PostgreSQL: the schema of Amends' tables. Default: amends."),
  prefix: text("TEXT", "SQLite: what the names of Amends' tables begin with. Default: amends_."),
};

export interface DatabaseChoice {
  readonly database: string | undefined;
  readonly config: string | undefined;
  readonly schema: string | undefined;
  readonly prefix: string | undefined;
}

export interface Wishes {
  /** The user's sagas are needed: without a config there is nothing to do. */
  readonly definitions?: boolean;
  /** A SQLite file that does not exist may be made. */
  readonly mayCreate?: boolean;
  readonly logger?: Logger;
}

export interface Local {
  readonly amends: Amends;
  readonly database: Database;
  readonly config: AmendsConfig | undefined;
  readonly configFile: string | undefined;
  /** For people. */
  readonly shown: string;
}

export async function openLocal(choice: DatabaseChoice, world: World, wishes: Wishes = {}): Promise<Local> {
  const { config, file } = await chooseConfig(choice, world, wishes);
  const given = choice.database ?? config?.database ?? emptyless(world.env["DATABASE_URL"]);
  if (given === undefined) throw noDatabase();
  if (typeof given !== "string" && (choice.schema ?? choice.prefix) !== undefined)
    throw new UsageError(
      "--schema and --prefix go with --database: the config has opened its database itself.",
    );
  const folder =
    choice.database === undefined && config?.database !== undefined && file ? dirname(file) : world.cwd;
  const place: Place | undefined = typeof given === "string" ? readPlace(given, folder) : undefined;
  const database = place ? await openPlace(place, choice, wishes.mayCreate ?? false) : (given as Database);
  const logger = config?.logger ?? wishes.logger;
  return {
    amends: createAmends({ events: [], ...config, database, ...(logger && { logger }) }),
    database,
    config,
    configFile: file,
    shown: place?.shown ?? `the database of ${file ?? "the config"}`,
  };
}

/**
 * A broken config must not prevent inspection: with a database on the command line, and if no definitions are needed,
 * the config is loaded only with `--config`.
 */
async function chooseConfig(
  choice: DatabaseChoice,
  world: World,
  { definitions = false }: Wishes,
): Promise<{ readonly config: AmendsConfig | undefined; readonly file: string | undefined }> {
  const isWanted = definitions || choice.config !== undefined || choice.database === undefined;
  const file = isWanted ? findConfig(world.cwd, choice.config) : undefined;
  if (file !== undefined) return loadConfig(file, world.cwd);
  if (!definitions) return { config: undefined, file };
  throw new Trouble(
    "CONFIG_MISSING",
    "There is no amends.config.ts in this folder, and this command needs your sagas.",
    "amends init writes one; --config FILE names another.",
  );
}

function emptyless(value: string | undefined): string | undefined {
  return value === "" ? undefined : value;
}

function noDatabase(): UsageError {
  return new UsageError(
    "Which database? Give --database URL|FILE, set DATABASE_URL, or put it into amends.config.ts. (amends reads no .env file: `node --env-file=.env node_modules/.bin/amends …`)",
  );
}
