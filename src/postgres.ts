/** PostgreSQL, version 13 and newer, through the `pg` package: `postgres(url)`, or a pool that you have. */
import pg from "pg";
import { positiveMs, type Duration } from "./core/duration.ts";
import { AmendsError } from "./core/errors.ts";
import { refuseUnknown } from "./core/options.ts";
import type { TransactionKind } from "./sagas/define/transaction-kind.ts";
import { systemClock, type Clock } from "./storage/clock.ts";
import type { Database } from "./storage/database.ts";
import type { CarriedStatement, Joins } from "./storage/joins/joins.ts";
import type { Durability } from "./storage/postgres/check-server.ts";
import { PostgresDatabase } from "./storage/postgres/connection.ts";
import { joinedDialect, postgresDialect, withWrappedErrors } from "./storage/postgres/dialect.ts";
import { Route, type PoolerChoice } from "./storage/postgres/route.ts";
import { checkSchemaName } from "./storage/postgres/schema-name.ts";
import { connectionDefaults, LATE_ANSWER_MS, throughPooler } from "./storage/postgres/settings.ts";

/** The settings of `postgres`. One of `url`, `connection` and `pool` is required. */
export interface PostgresSettings<Tx = pg.ClientBase> {
  /**
   * The connection string: `postgres://user:password@host/database`. Undefined or empty, as from a variable that a build
   * does not have, is refused at the first use of the database (`BAD_OPTION`).
   */
  readonly url?: string | undefined;
  /** Connection settings of `pg`, such as host, user and ssl. */
  readonly connection?: pg.ClientConfig;
  /** A pool of your own. Amends does not close it and does not use pipelining on it. */
  readonly pool?: pg.Pool;
  /** The number of connections in Amends' own pool; 1 is enough. Default: 10. */
  readonly connections?: number;
  /**
   * The statement timeout at the server. If there is no answer two seconds later, the connection is replaced. Default:
   * 30s.
   */
  readonly statementTimeout?: Duration;
  /**
   * How long `amends.start`, `publish` and `worker.start()` wait for the database in all, retries included, before they
   * throw `DATABASE_UNREACHABLE`. Other calls begin no further attempt after it. Default: 15s.
   */
  readonly callTimeout?: Duration;
  /** The schema of Amends' tables: up to 40 lower-case letters, digits and underscores. Default: "amends". */
  readonly schema?: string;
  /**
   * `"transaction"`: the URL leads to a pooler in transaction mode, such as PgBouncer, the pooled URL of Neon or Supabase, or RDS
   * Proxy. Statements are then not prepared by name, settings travel with each transaction, and workers poll. `"none"`:
   * it does not, and a sign of a pooler is an error. Default: found out by the first connection.
   */
  readonly pooler?: "transaction" | "none";
  /** A URL that leads to the server without a pooler. Amends only listens there, so that NOTIFY wakes workers. */
  readonly listenUrl?: string;
  /**
   * `"server"` accepts a server that runs with `fsync` off: a host whose storage keeps commits by itself (Neon), or a
   * database for tests. Default: "fsync", which refuses it.
   */
  readonly durability?: "fsync" | "server";
  /** Wakes workers with NOTIFY. Turn it off if very many transactions commit at once. Default: true. */
  readonly notify?: boolean;
  /** The client of your own transactions, such as `drizzle(db)`: what is passed as `tx`. Default: clients of `pg`. */
  readonly joins?: Joins<Tx>;
  /** For tests: a virtual clock from `amends/testing`. */
  readonly clock?: Clock;
}

const SETTINGS = [
  "url",
  "connection",
  "pool",
  "connections",
  "statementTimeout",
  "callTimeout",
  "schema",
  "pooler",
  "listenUrl",
  "durability",
  "notify",
  "joins",
  "clock",
];

/**
 * Makes a PostgreSQL database for `new Amends`. Throws `BAD_OPTION` if the settings are not valid. It connects on first
 * use.
 */
export function postgres<Tx>(settings: PostgresSettings<Tx> & { readonly joins: Joins<Tx> }): Database<Tx>;
export function postgres(settings: string | PostgresSettings): Database<pg.ClientBase>;
export function postgres<Tx>(settings: string | PostgresSettings<Tx>): Database<Tx> {
  const given: PostgresSettings<Tx> = typeof settings === "string" ? { url: settings } : settings;
  refuseUnknown(given, SETTINGS, "postgres");
  const { schema = "amends", notify = true, clock = systemClock, connections = 10 } = given;
  if (!Number.isInteger(connections) || connections < 1) {
    throw new AmendsError("BAD_OPTION", "`connections` must be a whole number, 1 or more.");
  }
  checkSchemaName(schema);
  if (!given.pool && !("url" in given) && !given.connection) {
    throw new AmendsError("BAD_OPTION", "Give `postgres` a url, a connection or a pool.");
  }
  const hasNoUrl = !given.pool && !given.connection && (given.url === undefined || given.url === "");
  checkJoins(given.joins);
  const statementMs = positiveMs(given.statementTimeout ?? "30s", "statementTimeout");
  const config: pg.ClientConfig = {
    ...connectionDefaults(statementMs),
    ...(given.url !== undefined && { connectionString: given.url }),
    ...given.connection,
  };
  const route = new Route(oneOf<PoolerChoice>("pooler", given.pooler, "auto", ["transaction", "none"]));
  // Before a new connection is used; the driver's types do not know the option.
  const onConnect = (client: pg.ClientBase): Promise<void> => database.verify(client);
  class OwnClient extends pg.Client {
    constructor(clientConfig: pg.ClientConfig = config) {
      if (hasNoUrl) throw noUrl();
      super(route.isPooled ? throughPooler(clientConfig) : clientConfig);
      database.own(this);
    }
  }
  const own = { ...config, pipeline: true, max: connections, onConnect, Client: OwnClient };
  const pool = given.pool ?? new pg.Pool(own);
  const ownDialect = postgresDialect(schema, clock, notify);
  const database: PostgresDatabase<Tx> = new PostgresDatabase<Tx>({
    pool,
    address: () => addressOf(given.pool?.options ?? config),
    own: given.pool === undefined,
    config,
    route,
    durability: oneOf<Durability>("durability", given.durability, "fsync", ["fsync", "server"]),
    dialect: given.joins ? withWrappedErrors(ownDialect) : ownDialect,
    joinedDialect: joinedDialect(schema, clock, notify),
    joins: given.joins,
    clock,
    connect: () => {
      if (!notify || hasNoUrl) return undefined;
      if (given.listenUrl !== undefined)
        return new pg.Client({ ...config, connectionString: given.listenUrl });
      return given.pool || route.isPooled ? undefined : new pg.Client(config);
    },
    schema,
    answerMs: statementMs + LATE_ANSWER_MS,
    callMs: positiveMs(given.callTimeout ?? "15s", "callTimeout"),
  });
  return database;
}

/** At the first use: the build of a framework loads the module without its environment. */
function noUrl(): AmendsError {
  return new AmendsError(
    "BAD_OPTION",
    "`postgres` was given no URL: is DATABASE_URL set? To connect by the PG… variables of the environment, pass `connection: {}`.",
    { field: "url" },
  );
}

/** Host and port as the driver reads them: from the URL, the settings or the environment. */
function addressOf({ connectionString, host, port }: pg.ClientConfig): string | undefined {
  try {
    const client = new pg.Client({
      ...(connectionString !== undefined && { connectionString }),
      ...(host !== undefined && { host }),
      ...(port !== undefined && { port }),
    });
    if (client.host.startsWith("/")) return client.host;
    return client.host.includes(":") ? `[${client.host}]:${client.port}` : `${client.host}:${client.port}`;
  } catch {
    return undefined; // a URL that cannot be read: the error of the connection says so
  }
}

function oneOf<T extends string>(name: string, given: T | undefined, otherwise: T, allowed: readonly T[]): T {
  if (given === undefined) return otherwise;
  if (allowed.includes(given)) return given;
  const list = allowed.map((one) => JSON.stringify(one)).join(" or ");
  throw new AmendsError("BAD_OPTION", `\`${name}\` must be ${list}.`);
}

function checkJoins<Tx>(joins: Partial<Joins<Tx>> | undefined): void {
  if (joins === undefined || (joins.dialect === "postgres" && typeof joins.query === "function")) return;
  throw new AmendsError(
    "BAD_OPTION",
    "`joins` takes what the adapter of your client makes, as in `joins: drizzle(db)` with `drizzle` of amends/drizzle.",
  );
}

/** For `.step(name, { transaction, … })`: the act receives a client with an open transaction as `tx`. */
export const transaction: TransactionKind<pg.ClientBase> = { dialect: "postgres" };

export type { CarriedStatement, Clock, Database, Joins };
