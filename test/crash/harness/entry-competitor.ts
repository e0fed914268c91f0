/**
 * A competitor for outbox entries: it claims the entries of a process that is stopped past its lease, and still holds
 * them when that process wakes up. Everything that the woken process writes under its old token must be refused.
 */
import { Outbox, type OutboxEntry } from "amends/erasure";
import { claimCount } from "../../../src/core/claim-token.ts";
import { findEntries } from "../../../src/outbox/queries.ts";
import { ENTRY, toEntry } from "../../../src/outbox/rows.ts";
import type { Database } from "../../../src/storage/database.ts";
import { heldEntries } from "./open-work.ts";

const LIMIT_MS = 25_000;

export class EntryCompetitor {
  readonly #outbox: Outbox;
  readonly #database: Database;
  /** The row of each claimed entry, as text. */
  #claimed: ReadonlyMap<string, string> = new Map();

  constructor(database: Database) {
    this.#outbox = new Outbox(database);
    this.#database = database;
  }

  async claimHeld(): Promise<number> {
    const held = await heldEntries(this.#database);
    const claimed = new Map<string, string>();
    const startedAt = performance.now();
    while (claimed.size < held.size) {
      for (const entry of await this.#outbox.claimBatch(50, { lease: "60s" }))
        claimed.set(entry.entryId, JSON.stringify(entry));
      if (performance.now() - startedAt > LIMIT_MS)
        throw new Error("the claim of the stopped process did not expire");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    this.#claimed = claimed;
    return claimed.size;
  }

  async release(): Promise<readonly string[]> {
    const problems: string[] = [];
    for (const [entryId, text] of this.#claimed) {
      const { dialect } = this.#database;
      const [row] = await this.#database.query(findEntries(dialect, ENTRY, "erasure", [entryId]));
      const { token } = JSON.parse(text) as OutboxEntry;
      if (!row || JSON.stringify(toEntry(ENTRY.read(row))) !== text)
        problems.push(`I3: entry ${entryId} was changed although claim ${claimCount(token)} held it`);
      await this.#outbox.writer.settle({ entryId, token, event: "release", waitMs: 0 });
    }
    this.#claimed = new Map();
    return problems;
  }
}
