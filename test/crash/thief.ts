/**
 * Takes entries over from a process that sleeps past its lease, and is still at work on them when that process wakes
 * up: whatever it then books under its old token must be refused.
 */
import { Outbox, type OutboxEntry } from "amends/erasure";
import { claimCount } from "../../src/core/claim-token.ts";
import { findEntries } from "../../src/outbox/queries.ts";
import { ENTRY, toEntry } from "../../src/outbox/rows.ts";
import type { Database } from "../../src/storage/database.ts";
import { heldEntries } from "./standing.ts";

const PATIENCE_MS = 25_000;

export class Thief {
  readonly #outbox: Outbox;
  readonly #database: Database;
  /** What the database says about each entry that was taken, as text. */
  #taken: ReadonlyMap<string, string> = new Map();

  constructor(database: Database) {
    this.#outbox = new Outbox(database);
    this.#database = database;
  }

  async take(): Promise<number> {
    const held = await heldEntries(this.#database);
    const taken = new Map<string, string>();
    const startedAt = performance.now();
    while (taken.size < held.size) {
      for (const entry of await this.#outbox.claimBatch(50, { lease: "60s" }))
        taken.set(entry.entryId, JSON.stringify(entry));
      if (performance.now() - startedAt > PATIENCE_MS) throw new Error("a claim never lapsed");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    this.#taken = taken;
    return taken.size;
  }

  async giveBack(): Promise<readonly string[]> {
    const problems: string[] = [];
    for (const [entryId, text] of this.#taken) {
      const { dialect } = this.#database;
      const [row] = await this.#database.query(findEntries(dialect, ENTRY, "erasure", [entryId]));
      const { token } = JSON.parse(text) as OutboxEntry;
      if (!row || JSON.stringify(toEntry(ENTRY.read(row))) !== text)
        problems.push(`I3: entry ${entryId} was changed although claim ${claimCount(token)} held it`);
      await this.#outbox.books.settle({ entryId, token, event: "release", waitMs: 0 });
    }
    this.#taken = new Map();
    return problems;
  }
}
