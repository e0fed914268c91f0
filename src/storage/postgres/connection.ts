/**
 * PostgreSQL behind the database port. On Amends' own pool, the statements of one batch take one round trip (the
 * driver's pipeline mode); a pool or a client of the caller is never pipelined. Every connection gets time limits,
 * and planner settings that keep plans stable (settings.ts). Every statement also has a client-side timeout, because the
 * server's limits do not help if the connection is silent. Through a pooler (route.ts) each statement is in a transaction that
 * begins with those settings, in the same round trip.
 */
import type { Client, ClientBase, ClientConfig, Pool, PoolClient, QueryConfig, QueryResult } from "pg";
import { AmendsError, closedError } from "../../core/errors.ts";
import type { Clock } from "../clock.ts";
import {
  AbandonedTransaction,
  DatabaseReplaced,
  type Database,
  type DatabaseAccess,
  type Dialect,
  type Row,
  type Session,
} from "../database.ts";
import { OpenWork } from "../open-work.ts";
import type { Joins } from "../joins/joins.ts";
import type { Sql } from "../sql.ts";
import { placeOf } from "../joins/callers-queries.ts";
import { CallerTransactions } from "../joins/callers-transaction.ts";
import { checkServer, type Durability } from "./check-server.ts";
import { ServerIdentity, ServerReplaced } from "./identity.ts";
import { listen } from "./listen.ts";
import { pgJoins, refuseNative } from "../joins/pg-joins.ts";
import { isSilence, Lending, socketOf } from "./pool.ts";
import type { Route } from "./route.ts";
import { DIRECT_OPENINGS, hasSentSettings, pooledOpenings, type Openings } from "./settings.ts";
import { statementName } from "./statement-name.ts";

export interface PostgresOptions<Tx> {
  readonly pool: Pool;
  /** Our own connections: pipelined, and prepared statements are named. */
  readonly own: boolean;
  /** The configuration of our own direct connections. */
  readonly config: ClientConfig;
  readonly route: Route;
  readonly durability: Durability;
  readonly dialect: Dialect;
  /** The dialect of statements in a caller's transaction. */
  readonly joinedDialect: Dialect;
  /** The client of the caller's transactions. Undefined: `pg`. */
  readonly joins: Joins<Tx> | undefined;
  readonly clock: Clock;
  /** Opens a connection outside of the pool, for LISTEN; undefined if notifications cannot reach it. */
  readonly connect: () => Client | undefined;
  readonly schema: string;
  /** The timeout of one statement. */
  readonly answerMs: number;
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
  readonly #names = new Map<string, string>();
  readonly #open = new OpenWork();
  readonly #lending: Lending;
  readonly #identity = new ServerIdentity();
  readonly #callers: CallerTransactions<Tx>;
  /** The database of Amends' own connections, cached. */
  #place: string | undefined;
  #checked: Promise<void> | undefined;
  #trustsServer = false;
  #pooled: { readonly guard: string | undefined; readonly openings: Openings } | undefined;
  #closed = false;

  constructor(options: PostgresOptions<Tx>) {
    this.#options = options;
    this.dialect = options.dialect;
    this.clock = options.clock;
    this.callMs = options.callMs;
    const { pool, own, clock } = options;
    this.#lending = new Lending({ pool, own, clock, connectMs: CONNECT_MS });
    this.#callers = new CallerTransactions<Tx>({
      joins: options.joins ?? (pgJoins as unknown as Joins<Tx>),
      dialect: options.joinedDialect,
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
    if (this.#isPooled && this.#place === undefined) await this.#readPlace(client);
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
    return this.#with(async (client) => {
      if (this.#isPooled) return (await this.#pipeline(client, [statement], limitMs))[0] ?? [];
      return (await this.#send(client, statement, limitMs)).rows as Row[];
    });
  }

  /** Through a pooler the server's own time limits hold: a setting would stay in a session of others. */
  async alone(statement: Sql): Promise<void> {
    await this.#with(async (client) => {
      const limits = this.#isPooled ? [] : ["statement_timeout", "lock_timeout"];
      for (const name of limits) await this.#tell(client, `set ${name} = 0`);
      try {
        await client.query({ text: statement.text, query_timeout: FOREVER_MS } as QueryConfig);
      } finally {
        for (const name of limits) await this.#tell(client, `reset ${name}`);
      }
    });
  }

  async batch(statements: readonly Sql[], epoch?: number): Promise<readonly (readonly Row[])[]> {
    return this.#with(async (client) => {
      if (epoch !== undefined && epoch !== this.#identity.epoch) throw new DatabaseReplaced();
      if (statements.length === 1 && !this.#isPooled)
        return [(await this.#send(client, statements[0] as Sql)).rows as Row[]];
      return this.#options.own ? this.#pipeline(client, statements) : this.#inTurn(client, statements);
    });
  }

  async transaction<T>(work: (session: Session, tx: Tx) => Promise<T>, foreign: boolean = false): Promise<T> {
    const { joins } = this.#options;
    if (foreign && joins) return this.#clientTransaction(joins, work);
    return this.#with(async (client) => {
      this.#callers.know(client);
      await this.#begin(client, foreign);
      let result: T;
      try {
        result = await (foreign
          ? this.#open.run(() => work(this.#foreignSession(client), client as Tx))
          : work(this.#session(client), client as Tx));
      } catch (error) {
        await this.#rollback(client, error);
        throw error;
      }
      committed(await this.#tell(client, "commit"));
      return result;
    });
  }

  /** Application code gets a transaction of its own client, opened by that client. */
  async #clientTransaction<T>(joins: Joins<Tx>, work: (session: Session, tx: Tx) => Promise<T>): Promise<T> {
    this.refuseInside();
    if (this.#closed) throw closedError();
    return joins.transaction(async (tx) => {
      const session = await this.#callers.begun(tx);
      return this.#open.run(() => work(session, tx));
    });
  }

  /** Amends' own statements are prepared once, inside a transaction too. */
  #session(client: ClientBase): Session {
    return {
      dialect: this.dialect,
      query: async (statement) => (await this.#send(client, statement)).rows as Row[],
    };
  }

  refuseInside(): void {
    this.#open.refuseInside();
  }

  join(tx: Tx): Session {
    return this.#callers.join(tx);
  }

  /** Queried once. With a caller's pool only while it has a free connection: the caller may hold the last one. */
  async #ownPlace(anew: boolean): Promise<string | undefined> {
    const { own, pool } = this.#options;
    if (this.#place !== undefined && !anew) return this.#place;
    if (!own && pool.idleCount === 0 && pool.totalCount >= pool.options.max) return undefined;
    // Without a connection of our own there is nothing to compare: the caller's transaction must not fail for that.
    return this.#with((client) => this.#readPlace(client)).catch(() => undefined);
  }

  async #readPlace(client: ClientBase): Promise<string | undefined> {
    const [row] = (await this.#send(client, placeOf(this.#options.schema))).rows as Row[];
    return (this.#place = (row?.["place"] as string | null | undefined) ?? undefined);
  }

  /** An own transaction in which application code runs: its statements are not prepared by name. */
  #foreignSession(client: ClientBase): Session {
    return {
      dialect: this.dialect,
      query: async ({ text, values }) => (await client.query({ text, values: [...values] })).rows as Row[],
    };
  }

  listen(onNotice: () => void): () => void {
    const { connect, schema, route } = this.#options;
    return listen({ connect, schema, clock: this.clock, route, onNotice });
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#lending.close();
  }

  /** Runs work on one connection; a broken connection is destroyed. */
  async #with<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    this.#open.refuseInside();
    try {
      if (this.#closed) throw closedError();
      return await this.#withClient(await this.#borrow(), work);
    } catch (error) {
      // If the pool was closed meanwhile, report that instead of the pool's error.
      throw this.#closed && this.dialect.trouble(error).code === "DATABASE_UNREACHABLE"
        ? closedError()
        : error;
    }
  }

  /** A pooler that refuses the settings of a direct connection is asked once more without them. */
  async #borrow(): Promise<PoolClient> {
    return this.#lending.borrow().catch((error: unknown) => {
      if (this.#options.own && this.#options.route.learnsFromConnect(error)) return this.#lending.borrow();
      throw error;
    });
  }

  async #withClient<T>(client: PoolClient, work: (client: PoolClient) => Promise<T>): Promise<T> {
    let broken = false;
    // A connection may break between two statements of a transaction; without a listener, the error event would end
    // the process.
    const onError = (): void => void (broken = true);
    client.on("error", onError);
    try {
      refuseNative(client);
      return await work(client);
    } catch (error) {
      const { kind, code } = this.dialect.trouble(error);
      const isReadOnly = code === "DATABASE_READ_ONLY";
      broken ||= error instanceof AbandonedTransaction || isReadOnly;
      broken ||= !(error instanceof AmendsError) && kind === "unknown";
      // The server has become a standby, was replaced, or does not answer: the other connections lead there as well.
      if (isReadOnly || isSilence(error) || error instanceof ServerReplaced) this.#lending.replaceAll();
      // Nothing was done, and the next attempt uses no names.
      if (this.#options.own && this.#options.route.learnsFromStatement(error)) {
        broken = true;
        throw transient("a pooler has changed the session", error);
      }
      throw error;
    } finally {
      client.off("error", onError);
      this.#lending.giveBack(client, broken);
    }
  }

  async #pipeline(
    client: PoolClient,
    statements: readonly Sql[],
    limitMs?: number,
  ): Promise<readonly (readonly Row[])[]> {
    const uncork = cork(client);
    let sent: Promise<unknown>[];
    try {
      const begin = this.#begin(client);
      const own = statements.map((statement) => this.#send(client, statement, limitMs));
      sent = [begin, ...own, this.#tell(client, "commit")];
    } finally {
      uncork();
    }
    const settled = await Promise.allSettled(sent);
    const failed = settled.find((one) => one.status === "rejected");
    if (failed) throw failed.reason;
    const results = settled.map((one) => (one as PromiseFulfilledResult<QueryResult>).value);
    committed(results.at(-1) as QueryResult);
    return results.slice(1, -1).map((result) => result.rows as Row[]);
  }

  async #inTurn(client: PoolClient, statements: readonly Sql[]): Promise<readonly (readonly Row[])[]> {
    await this.#begin(client);
    const results: (readonly Row[])[] = [];
    try {
      for (const statement of statements) results.push((await this.#send(client, statement)).rows as Row[]);
    } catch (error) {
      await this.#rollback(client, error);
      throw error;
    }
    committed(await this.#tell(client, "commit"));
    return results;
  }

  /** After a lost connection there is nothing to roll back. */
  async #rollback(client: ClientBase, why: unknown): Promise<void> {
    if (why instanceof AbandonedTransaction) return;
    if (!(why instanceof AmendsError) && this.dialect.trouble(why).kind === "unknown") return;
    await this.#tell(client, "rollback");
  }

  get #isPooled(): boolean {
    return this.#options.own && this.#options.route.isPooled;
  }

  #begin(client: ClientBase, foreign: boolean = false): Promise<unknown> {
    if (!this.#options.own) return this.#tell(client, "begin");
    const { own, foreign: foreignOpening } = this.#openings;
    const begun = this.#tell(client, foreign ? foreignOpening : own);
    return this.#isPooled
      ? begun.catch((error: unknown) => Promise.reject(ServerReplaced.from(error)))
      : begun;
  }

  get #openings(): Openings {
    if (!this.#isPooled) return DIRECT_OPENINGS;
    const { guard } = this.#identity;
    if (!this.#pooled || this.#pooled.guard !== guard)
      this.#pooled = { guard, openings: pooledOpenings(this.#options.config, guard) };
    return this.#pooled.openings;
  }

  #tell(client: ClientBase, text: string): Promise<QueryResult> {
    return client.query({ text, query_timeout: this.#options.answerMs } as QueryConfig);
  }

  #send(client: ClientBase, statement: Sql, limitMs: number = this.#options.answerMs): Promise<QueryResult> {
    const { text, values } = statement;
    const query_timeout = limitMs;
    if (!this.#options.own) return client.query({ text, values, query_timeout } as QueryConfig);
    if (this.#options.route.isPooled) return client.query({ text, values, query_timeout } as QueryConfig);
    let name = this.#names.get(text);
    if (!name) this.#names.set(text, (name = statementName(text)));
    return client.query({ name, text, values, query_timeout } as QueryConfig);
  }

  async #check(): Promise<void> {
    this.#trustsServer = await this.#with((client) => checkServer(client, this.#options.durability));
  }
}

/** Corks the socket, so that several messages are sent with one system call. */
function cork(client: ClientBase): () => void {
  const socket = socketOf(client);
  socket?.cork?.();
  return () => socket?.uncork?.();
}

/** After a failed statement, COMMIT succeeds but rolls back: that is not a commit. */
function committed(result: { command: string }): void {
  if (result.command === "ROLLBACK") throw transient("the transaction was rolled back");
}

/** Nothing was committed. */
function transient(message: string, cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), { code: "25P02" });
}
