/**
 * Identifies the server by its system identifier and timeline, read on every new connection. A promoted standby has
 * a new timeline, a restored copy may have another identifier; an asynchronous failover may lose acknowledged
 * commits. Direct connections do not survive a failover, so the first new connection detects it. Connections to a pooler do
 * survive it, so there each transaction begins with a guard.
 */
import type { ClientBase, QueryConfig } from "pg";
import { IS_DIRECT } from "./settings.ts";

const IDENTITY = `case when pg_is_in_recovery() then 'standby'
    else (select system_identifier::text from pg_control_system())
      || '/' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) end`;

const ASK = asked(`select ${IDENTITY} as identity, ${IS_DIRECT}`);
const ASK_DIRECT = asked(`select ${IS_DIRECT}`);

function asked(text: string): QueryConfig {
  return { text, query_timeout: 5_000 } as QueryConfig;
}

/** Servers that only implement the protocol, or a role without the right: the identity is unknown. */
const CANNOT_TELL = new Set(["42501", "42883", "42P01", "0A000", "55000"]);

/** The guard divides by zero. */
const GUARD_FAILED = "22012";

interface Answer {
  readonly identity?: string | null;
  readonly direct: boolean;
}

export interface Seen {
  /** The server was replaced. */
  readonly isReplaced: boolean;
  /** The server has applied our startup parameters. */
  readonly isDirect: boolean;
}

export class ServerIdentity {
  epoch = 0;
  #known: string | undefined;
  #cannotTell = false;
  readonly #listeners = new Set<() => void>();

  /** Throws for a standby, which is read-only. */
  async check(client: ClientBase): Promise<Seen> {
    const { identity, direct: isDirect } = await this.#ask(client);
    if (identity === undefined || identity === null) return { isReplaced: false, isDirect };
    if (identity === "standby")
      throw Object.assign(new Error("cannot write to a server in recovery"), { code: "25006" });
    const isReplaced = this.#known !== undefined && this.#known !== identity;
    this.#known = identity;
    if (isReplaced) {
      this.epoch++;
      for (const listener of this.#listeners) listener();
    }
    return { isReplaced, isDirect };
  }

  /** A statement that fails if the server is not the known one; undefined if the server cannot tell. */
  get guard(): string | undefined {
    return this.#known === undefined ? undefined : `select 1 / (${IDENTITY} = '${this.#known}')::int`;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async #ask(client: ClientBase): Promise<Answer> {
    try {
      if (!this.#cannotTell) return first(await client.query<Answer>(ASK));
    } catch (error) {
      if (!CANNOT_TELL.has(String((error as { code?: unknown }).code))) throw error;
      this.#cannotTell = true;
    }
    return first(await client.query<Answer>(ASK_DIRECT));
  }
}

function first({ rows }: { readonly rows: readonly Answer[] }): Answer {
  return rows[0] ?? { direct: false };
}

/** A guard at the beginning of a transaction has failed: nothing was done, and every connection leads to another server. */
export class ServerReplaced extends Error {
  /** As if the server had ended the connection. */
  readonly code = "57P01";

  constructor() {
    super("the pooler leads to another server than before");
  }

  static from(error: unknown): unknown {
    return (error as { code?: unknown }).code === GUARD_FAILED ? new ServerReplaced() : error;
  }
}
