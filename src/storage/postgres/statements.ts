/**
 * Sends statements on one connection: named or unnamed, one by one or pipelined, inside transactions that begin with the
 * settings of the route. Every statement has a client-side timeout, because the server's limits do not help if the
 * connection is silent.
 */
import { createHash } from "node:crypto";
import type { ClientBase, ClientConfig, QueryConfig, QueryResult } from "pg";
import { AmendsError } from "../../core/errors.ts";
import { AbandonedTransaction, type Dialect, type Row } from "../database.ts";
import type { Sql } from "../sql.ts";
import { ServerReplaced, type ServerIdentity } from "./identity.ts";
import { socketOf } from "./pool.ts";
import type { Route } from "./route.ts";
import { DIRECT_OPENINGS, pooledOpenings, type Openings } from "./settings.ts";
import { transient } from "./trouble.ts";

export interface StatementOptions {
  /** Our own connections: pipelined, and prepared statements are named. */
  readonly own: boolean;
  /** The configuration of our own direct connections. */
  readonly config: ClientConfig;
  readonly route: Route;
  readonly dialect: Dialect;
  /** The timeout of one statement. */
  readonly answerMs: number;
}

export class Statements {
  readonly #options: StatementOptions;
  readonly #identity: ServerIdentity;
  readonly #names = new Map<string, string>();
  #pooled: { readonly guard: string | undefined; readonly openings: Openings } | undefined;

  constructor(options: StatementOptions, identity: ServerIdentity) {
    this.#options = options;
    this.#identity = identity;
  }

  /** Our own connections lead to a pooler: each statement is in a transaction that begins with its settings. */
  get isPooled(): boolean {
    return this.#options.own && this.#options.route.isPooled;
  }

  /** Sends a command without parameters. */
  command(client: ClientBase, text: string): Promise<QueryResult> {
    return client.query({ text, query_timeout: this.#options.answerMs } as QueryConfig);
  }

  async rows(client: ClientBase, statement: Sql, limitMs?: number): Promise<readonly Row[]> {
    return (await this.#send(client, statement, limitMs)).rows as Row[];
  }

  begin(client: ClientBase, foreign: boolean = false): Promise<unknown> {
    if (!this.#options.own) return this.command(client, "begin");
    const { own, foreign: foreignOpening } = this.#openings;
    const begun = this.command(client, foreign ? foreignOpening : own);
    return this.isPooled
      ? begun.catch((error: unknown) => Promise.reject(ServerReplaced.from(error)))
      : begun;
  }

  async commit(client: ClientBase): Promise<void> {
    committed(await this.command(client, "commit"));
  }

  /** After a lost connection there is nothing to roll back. */
  async rollback(client: ClientBase, why: unknown): Promise<void> {
    if (why instanceof AbandonedTransaction) return;
    if (!(why instanceof AmendsError) && this.#options.dialect.trouble(why).kind === "unknown") return;
    await this.command(client, "rollback");
  }

  /** One transaction in one round trip. */
  async pipeline(
    client: ClientBase,
    statements: readonly Sql[],
    limitMs?: number,
  ): Promise<readonly (readonly Row[])[]> {
    const uncork = cork(client);
    let sent: Promise<unknown>[];
    try {
      const begin = this.begin(client);
      const own = statements.map((statement) => this.#send(client, statement, limitMs));
      sent = [begin, ...own, this.command(client, "commit")];
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

  /** One transaction, statement by statement: for a connection that is not ours. */
  async inTurn(client: ClientBase, statements: readonly Sql[]): Promise<readonly (readonly Row[])[]> {
    await this.begin(client);
    const results: (readonly Row[])[] = [];
    try {
      for (const statement of statements) results.push(await this.rows(client, statement));
    } catch (error) {
      await this.rollback(client, error);
      throw error;
    }
    await this.commit(client);
    return results;
  }

  get #openings(): Openings {
    if (!this.isPooled) return DIRECT_OPENINGS;
    const { guard } = this.#identity;
    if (!this.#pooled || this.#pooled.guard !== guard)
      this.#pooled = { guard, openings: pooledOpenings(this.#options.config, guard) };
    return this.#pooled.openings;
  }

  #send(client: ClientBase, statement: Sql, limitMs: number = this.#options.answerMs): Promise<QueryResult> {
    const { text, values } = statement;
    const query_timeout = limitMs;
    const { own, route } = this.#options;
    if (!own || route.isPooled) return client.query({ text, values, query_timeout } as QueryConfig);
    let name = this.#names.get(text);
    if (!name) this.#names.set(text, (name = statementName(text)));
    return client.query({ name, text, values, query_timeout } as QueryConfig);
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

/**
 * Prepared statements are named by a hash of their text. A counter would give two processes the same name for different
 * texts: where a pooler hands one the session of the other, the wrong statement would run.
 */
function statementName(text: string): string {
  return `amends_${createHash("sha256").update(text).digest("hex").slice(0, 32)}`;
}
