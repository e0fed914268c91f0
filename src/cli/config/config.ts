/**
 * What `amends.config.ts` exports: the options of `new Amends`, and what is made on it. The command line puts the same
 * things together as an application would, and an application may use the same file with `createAmends`.
 */
import type { ConsoleOptions } from "../../console/options.ts";
import type { ListenOptions } from "../../console/http/node-http.ts";
import { AmendsError } from "../../core/errors.ts";
import { Erasure, type ErasureOptions } from "../../erasure/erasure.ts";
import { Amends } from "../../operate/amends.ts";
import { OPTIONS, type DatabaseOptions } from "../../operate/amends-options.ts";
import type { WorkerOptions } from "../../operate/worker.ts";
import { Calls, type CallsOptions } from "../../outbox/calls.ts";
import type { Database } from "../../storage/database.ts";
import { nearest } from "../program/nearest.ts";

/** `new Erasure` without its Amends, or a function that makes one on it, where it needs more: a chained trail, say. */
export type ErasureConfig<Tx, Category extends string> =
  | Omit<ErasureOptions<Tx, Category>, "amends">
  | ((amends: Amends<Tx>) => Erasure<Tx, Category>);

export interface AmendsConfig<Tx = unknown, Category extends string = string> extends Omit<
  DatabaseOptions<Tx>,
  "database"
> {
  /** A database, a PostgreSQL URL, or a SQLite file beside this one. `--database` goes before it, DATABASE_URL after it. */
  readonly database?: Database<Tx> | string;
  readonly erasure?: ErasureConfig<Tx, Category>;
  /** `new Calls` without its Amends. */
  readonly calls?: CallsOptions;
  /** Whatever else is made on it before a worker starts, such as retention: `(amends) => new Retention({ amends, … })`. */
  readonly attach?: (amends: Amends<Tx>) => unknown;
  /** For `amends worker` and `amends dev`. */
  readonly worker?: WorkerOptions;
  /** For `amends console` and `amends dev`. */
  readonly console?: ConsoleOptions & ListenOptions;
}

/** Keeps the types of what it is given; does nothing else. */
export function defineConfig<Tx = unknown, Category extends string = string>(
  config: AmendsConfig<Tx, Category>,
): AmendsConfig<Tx, Category> {
  return config;
}

/** What a config makes. */
export interface Assembly<Tx = unknown, Category extends string = string> {
  readonly amends: Amends<Tx>;
  readonly erasure: Erasure<Tx, Category> | undefined;
  readonly calls: Calls<Tx> | undefined;
}

/** A config has a database of ours, never a storage of the user's own, and what is made on it besides. */
const KEYS: readonly string[] = [
  ...OPTIONS.filter((name) => name !== "storage" && name !== "clock"),
  "erasure",
  "calls",
  "attach",
  "worker",
  "console",
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

/** Puts a config together, for an application that uses the same file. */
export function createAmends<Tx = unknown, Category extends string = string>(
  config: AmendsConfig<Tx, Category>,
): Assembly<Tx, Category> {
  refuseMisspelt(config);
  const { database, erasure, calls, attach, worker: _worker, console: _console, ...options } = config;
  if (database === undefined || typeof database === "string") {
    throw new AmendsError(
      "BAD_OPTION",
      'Give `createAmends` a database, such as `sqlite("shop.db")` or `postgres(url)`.',
    );
  }
  const amends = new Amends<Tx>({ ...options, database });
  const made =
    typeof erasure === "function" ? erasure(amends) : erasure && new Erasure({ amends, ...erasure });
  const attached = calls && new Calls<Tx>(amends, calls).attach();
  attach?.(amends);
  return { amends, erasure: made, calls: attached };
}
