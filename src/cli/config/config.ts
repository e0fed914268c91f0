/**
 * What `amends.config.ts` exports: the options of `new Amends`, and how the command line runs it. The command line
 * builds the same Amends as an application would, and an application may use the same file with `createAmends`.
 */
import type { ProbeOptions } from "../../console/health/probes.ts";
import type { ConsoleOptions } from "../../console/options.ts";
import type { ListenOptions } from "../../console/http/node-http.ts";
import { AmendsError } from "../../core/errors.ts";
import { Amends } from "../../operate/amends.ts";
import { OPTIONS, type DatabaseOptions } from "../../operate/amends-options.ts";
import type { WorkerOptions } from "../../operate/worker.ts";
import type { AnyEvent } from "../../events/define/event.ts";
import type { Database } from "../../storage/database.ts";
import { nearest } from "../program/nearest.ts";

/** The options of `new Amends`, a database that may be a URL or a file, and settings of the command line. */
export interface AmendsConfig<Tx = unknown, Category extends string = string> extends Omit<
  DatabaseOptions<Tx, Category>,
  "database"
> {
  /** A database, a PostgreSQL URL, or a SQLite file beside this one. `--database` goes before it, DATABASE_URL after it. */
  readonly database?: Database<Tx> | string;
  /** Called with the Amends before anything runs: the place for `observe` of `amends/opentelemetry`. */
  readonly onCreate?: (amends: Amends<Tx, Category>) => unknown;
  /** For `amends worker` and `amends dev`. */
  readonly worker?: WorkerOptions;
  /** For `amends console` and `amends dev`. */
  readonly console?: ConsoleOptions & ListenOptions;
  /** `amends worker` answers probes there: `/livez`, `/readyz`, `/metrics`. Default: nowhere. */
  readonly health?: ProbeOptions;
  /** For `amends events`: events that nothing here handles, such as those that this program only publishes. Default: none. */
  readonly contracts?: readonly AnyEvent[];
}

/** Returns the config unchanged, with its types. */
export function defineConfig<Tx = unknown, Category extends string = string>(
  config: AmendsConfig<Tx, Category>,
): AmendsConfig<Tx, Category> {
  return config;
}

/** A config has a database of Amends, never a `storage`, and settings of the command line. */
const KEYS: readonly string[] = [
  ...OPTIONS.filter((name) => name !== "storage" && name !== "clock"),
  "onCreate",
  "worker",
  "console",
  "health",
  "contracts",
];

function refuseMisspelt(config: object): void {
  const unknown = Object.keys(config).find((key) => !KEYS.includes(key));
  if (unknown === undefined) return;
  const near = nearest(unknown, KEYS);
  const hint = near === undefined ? "" : ` Did you mean ${near}?`;
  throw new AmendsError(
    "BAD_OPTION",
    `The config: there is no option named ${unknown}.${hint} There are: ${KEYS.join(", ")}.`,
  );
}

/** Builds the Amends of a config, for an application that uses the same file. */
export function createAmends<Tx = unknown, Category extends string = string>(
  config: AmendsConfig<Tx, Category>,
): Amends<Tx, Category> {
  if ((config as unknown) === undefined)
    throw new AmendsError(
      "BAD_OPTION",
      "The config is undefined: it is probably imported in a cycle (config → saga → this file). Import the Amends in no file that the config imports; a saga gets it from `onCreate`.",
    );
  refuseMisspelt(config);
  const {
    database,
    onCreate,
    worker: _worker,
    console: _console,
    health: _health,
    contracts: _contracts,
    ...options
  } = config;
  if (database === undefined || typeof database === "string") {
    throw new AmendsError(
      "BAD_OPTION",
      '`createAmends` needs a config with a database, such as `sqlite("shop.db")` or `postgres(url)`.',
    );
  }
  const amends = new Amends<Tx, Category>({ ...options, database });
  onCreate?.(amends);
  return amends;
}
