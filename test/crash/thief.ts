/**
 * Takes entries over from a process that sleeps past its lease, and is still at work on them when that process wakes
 * up: whatever it then books under its old token must be refused.
 */
import { Outbox, type Amends } from "amends";
import type { Database } from "../../src/storage/database.ts";
import { heldEntries } from "./standing.ts";

const PATIENCE_MS = 25_000;

export class Thief {
  readonly #outbox: Outbox;
  readonly #database: Database;
  #taken: ReadonlyMap<string, number> = new Map();

  constructor(amends: Amends, database: Database) {
    this.#outbox = new Outbox(amends);
    this.#database = database;
  }

  async take(): Promise<number> {
    const held = await heldEntries(this.#database);
    const taken = new Map<string, number>();
    const startedAt = performance.now();
    while (taken.size < held.size) {
      for (const { entryId, token } of await this.#outbox.claimBatch(50, { lease: "60s" }))
        taken.set(entryId, token);
      if (performance.now() - startedAt > PATIENCE_MS) throw new Error("a claim never lapsed");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    this.#taken = taken;
    return taken.size;
  }

  async giveBack(): Promise<readonly string[]> {
    const held = await heldEntries(this.#database);
    const problems: string[] = [];
    for (const [entryId, token] of this.#taken) {
      if (held.get(entryId) !== token)
        problems.push(`I3: entry ${entryId} was moved although token ${token} held it`);
      else await this.#outbox.books.settle({ entryId, token, event: "release", waitMs: 0 });
    }
    this.#taken = new Map();
    return problems;
  }
}
