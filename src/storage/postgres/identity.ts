/**
 * Identifies the server by its system identifier and timeline, read on every new connection. A promoted standby has
 * a new timeline, a restored copy may have another identifier; an asynchronous failover may lose acknowledged
 * commits. Old connections do not survive a failover, so the first new connection detects it.
 */
import type { ClientBase, QueryConfig } from "pg";

const ASK: QueryConfig = {
  text: `select case when pg_is_in_recovery() then 'standby'
    else (select system_identifier::text from pg_control_system())
      || '/' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) end as identity`,
  query_timeout: 5_000,
} as QueryConfig;

/** Servers that only implement the protocol, or a role without the right: the identity is unknown. */
const CANNOT_TELL = new Set(["42501", "42883", "42P01", "0A000", "55000"]);

export class ServerIdentity {
  epoch = 0;
  #known: string | undefined;
  #cannotTell = false;
  readonly #listeners = new Set<() => void>();

  /** True if the server was replaced. Throws for a standby, which is read-only. */
  async check(client: ClientBase): Promise<boolean> {
    if (this.#cannotTell) return false;
    const identity = await this.#ask(client);
    if (identity === undefined) return false;
    if (identity === "standby")
      throw Object.assign(new Error("cannot write to a server in recovery"), { code: "25006" });
    const isChanged = this.#known !== undefined && this.#known !== identity;
    this.#known = identity;
    if (!isChanged) return false;
    this.epoch++;
    for (const listener of this.#listeners) listener();
    return true;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async #ask(client: ClientBase): Promise<string | undefined> {
    try {
      const { rows } = await client.query<{ identity: string | null }>(ASK);
      return rows[0]?.identity ?? undefined;
    } catch (error) {
      if (!CANNOT_TELL.has(String((error as { code?: unknown }).code))) throw error;
      this.#cannotTell = true;
      return undefined;
    }
  }
}
