/**
 * PostgreSQL behind the database port. On Amends' own pool, the statements of one batch take one round trip (the
 * driver's pipeline mode); a pool or a client of the caller is never pipelined (statements.ts). Every connection gets time
 * limits, and planner settings that keep plans stable (settings.ts). Through a pooler (route.ts) each statement is in a
 * transaction that begins with those settings, in the same round trip. What an error means for the connection is decided
 * where the connection is checked out (checkout.ts).
 */
import type { Client, ClientBase, Pool, QueryConfig } from "pg";
import type { Clock } from "../clock.ts";
import {
  DatabaseReplaced,
  type Database,
  type DatabaseAccess,
  type Dialect,
  type JoinedSession,
  type Row,
  type Session,
} from "../database.ts";
import { OpenWork } from "../open-work.ts";
import type { Joins } from "../joins/joins.ts";
import type { Sql } from "../sql.ts";
import { placeOf } from "../joins/callers-queries.ts";
import { CallerTransactions, type CallerOptions } from "../joins/callers-transaction.ts";
import { checkServer, type Durability } from "./check-server.ts";
import { Checkout } from "./checkout.ts";
import { ServerIdentity } from "./identity.ts";
import { listen } from "./listen.ts";
import { pgJoins } from "../joins/pg-joins.ts";
import { Lending } from "./pool.ts";
import { hasSentSettings } from "./settings.ts";
import { Statements, type StatementOptions } from "./statements.ts";

export interface PostgresOptions<Tx> extends StatementOptions {
  readonly pool: Pool;
  /** Host and port, for messages. */
  readonly address: () => string | undefined;
  readonly durability: Durability;
  /** The dialect of statements in a caller's transaction. */
  readonly joinedDialect: Dialect;
  /** The client of the caller's transactions. Undefined: `pg`. */
  readonly joins: Joins<Tx> | undefined;
  readonly clock: Clock;
  /** Opens a connection outside of the pool, for LISTEN; undefined if notifications cannot reach it. */
  readonly connect: () => Client | undefined;
  readonly schema: string;
  /** The timeout of a call that a caller waits for. */
  readonly callMs: number;
}

/** The longest that a timer waits. */
const FOREVER_MS = 2 ** 31 - 1;

/** The timeout of a wait for a connection of a caller's pool. */
const CONNECT_MS = 30_000;

/** `Tx` is the type of the caller's transactions: a client of `pg`, or that of the client chosen with `joins`. */
export class PostgresDatabase<Tx = ClientBase> implements Database<Tx> {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly callMs: number;
  readonly #options: PostgresOptions<Tx>;
  readonly #open = new OpenWork();
  readonly #identity = new ServerIdentity();
  readonly #lending: Lending;
  readonly #checkout: Checkout;
  readonly #statements: Statements;
  readonly #callers: CallerTransactions<Tx>;
  /** The database of Amends' own connections, cached. */
  #place: string | undefined;
  #checked: Promise<void> | undefined;
  #trustsServer = false;

  constructor(options: PostgresOptions<Tx>) {
    this.#options = options;
    this.dialect = options.dialect;
    this.clock = options.clock;
    this.callMs = options.callMs;
    const { pool, own, clock, route, dialect } = options;
    this.#lending = new Lending({ pool, own, clock, connectMs: CONNECT_MS });
    this.#checkout = new Checkout({ lending: this.#lending, own, route, dialect, open: this.#open });
    this.#statements = new Statements(options, this.#identity);
    this.#callers = new CallerTransactions<Tx>({
      // Without `joins`, `Tx` is a client of `pg`.
      joins: options.joins ?? (pgJoins as unknown as CallerOptions<Tx>["joins"]),
      dialect: options.joinedDialect,
      ownDialect: options.dialect,
      schema: options.schema,
      checkMs: options.callMs,
      ownPlace: (anew) => this.#ownPlace(anew),
    });
  }

  get epoch(): number {
    return this.#identity.epoch;
  }

  onReplaced(listener: () => void): () => void {
    return this.#identity.onChange(listener);
  }

  /** Checks every new connection before its use: a failover may have replaced the server. */
  async verify(client: ClientBase): Promise<void> {
    const { isReplaced, isDirect } = await this.#identity.check(client);
    if (isReplaced) this.#lending.replaceAll();
    if (!isDirect && hasSentSettings(client)) this.#options.route.lostSettings();
    // A server with one session for all (PGlite) cannot answer later, while a caller has a transaction.
    if (this.#statements.isPooled && this.#place === undefined) await this.#readPlace(client);
  }

  /** Destroys this connection when the database is closed, also if it is not connected yet. */
  own(client: ClientBase): void {
    this.#lending.remember(client);
  }

  get client(): string | undefined {
    return this.#options.joins?.client;
  }

  get connections(): number {
    return this.#options.pool.options.max;
  }

  get address(): string | undefined {
    return this.#options.address();
  }

  get access(): DatabaseAccess {
    return { isPooled: this.#options.route.isPooled, trustsServer: this.#trustsServer };
  }

  open(): Promise<void> {
    this.#checked ??= this.#check().catch((error: unknown) => {
      this.#checked = undefined;
      throw error;
    });
    return this.#checked;
  }

  async query(statement: Sql, limitMs?: number): Promise<readonly Row[]> {
    return this.#checkout.run(async (client) => {
      if (this.#statements.isPooled)
        return (await this.#statements.pipeline(client, [statement], limitMs))[0] ?? [];
      return this.#statements.rows(client, statement, limitMs);
    });
  }

  /** Through a pooler the server's own time limits hold: a setting would stay in a session of others. */
  async alone(statement: Sql): Promise<void> {
    await this.#checkout.run(async (client) => {
      const limits = this.#statements.isPooled ? [] : ["statement_timeout", "lock_timeout"];
      for (const name of limits) await this.#statements.command(client, `set ${name} = 0`);
      try {
        await client.query({ text: statement.text, query_timeout: FOREVER_MS } as QueryConfig);
      } finally {
        for (const name of limits) await this.#statements.command(client, `reset ${name}`);
      }
    });
  }

  async batch(statements: readonly Sql[], epoch?: number): Promise<readonly (readonly Row[])[]> {
    return this.#checkout.run(async (client) => {
      if (epoch !== undefined && epoch !== this.#identity.epoch) throw new DatabaseReplaced();
      if (statements.length === 1 && !this.#statements.isPooled)
        return [await this.#statements.rows(client, statements[0] as Sql)];
      return this.#options.own
        ? this.#statements.pipeline(client, statements)
        : this.#statements.inTurn(client, statements);
    });
  }

  async transaction<T>(work: (session: Session, tx: Tx) => Promise<T>, foreign: boolean = false): Promise<T> {
    const { joins } = this.#options;
    if (foreign && joins) return this.#clientTransaction(joins, work);
    return this.#checkout.run(async (client) => {
      this.#callers.know(client);
      await this.#statements.begin(client, foreign);
      let result: T;
      try {
        result = await (foreign
          ? this.#open.run(() => work(this.#foreignSession(client), client as Tx))
          : work(this.#session(client), client as Tx));
      } catch (error) {
        await this.#statements.rollback(client, error);
        throw error;
      }
      await this.#statements.commit(client);
      return result;
    });
  }

  /** Application code gets a transaction of its own client, opened by that client. */
  async #clientTransaction<T>(joins: Joins<Tx>, work: (session: Session, tx: Tx) => Promise<T>): Promise<T> {
    this.refuseInside();
    this.#checkout.refuseClosed();
    return joins.transaction(async (tx) => {
      const session = await this.#callers.begun(tx);
      return this.#open.run(() => work(session, tx));
    });
  }

  /** Amends' own statements are prepared once, inside a transaction too. */
  #session(client: ClientBase): Session {
    return {
      dialect: this.dialect,
      query: (statement) => this.#statements.rows(client, statement),
    };
  }

  refuseInside(): void {
    this.#open.refuseInside();
  }

  join(tx: Tx): JoinedSession {
    return this.#callers.join(tx);
  }

  /** Queried once. With a caller's pool only while it has a free connection: the caller may hold the last one. */
  async #ownPlace(anew: boolean): Promise<string | undefined> {
    const { own, pool } = this.#options;
    if (this.#place !== undefined && !anew) return this.#place;
    if (!own && pool.idleCount === 0 && pool.totalCount >= pool.options.max) return undefined;
    // Without a connection of our own there is nothing to compare: the caller's transaction must not fail for that.
    return this.#checkout.run((client) => this.#readPlace(client)).catch(() => undefined);
  }

  async #readPlace(client: ClientBase): Promise<string | undefined> {
    const [row] = await this.#statements.rows(client, placeOf(this.#options.schema));
    return (this.#place = (row?.["place"] as string | null | undefined) ?? undefined);
  }

  /** An own transaction in which application code runs: its statements are not prepared by name. */
  #foreignSession(client: ClientBase): Session {
    return {
      dialect: this.dialect,
      query: async ({ text, values }) => (await client.query({ text, values: [...values] })).rows as Row[],
    };
  }

  listen(onNotice: () => void, onHearing?: (isHearing: boolean) => void): () => void {
    const { connect, schema, route } = this.#options;
    return listen({ connect, schema, clock: this.clock, route, onNotice, onHearing });
  }

  async close(): Promise<void> {
    await this.#checkout.close();
  }

  async #check(): Promise<void> {
    this.#trustsServer = await this.#checkout.run((client) => checkServer(client, this.#options.durability));
  }
}
