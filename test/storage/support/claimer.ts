/** A process of its own that claims whatever is due until nothing is left, and says what it got. */
import process from "node:process";
import { postgres } from "../../../src/postgres.ts";
import { sqlite } from "../../../src/sqlite.ts";
import { AmendsError } from "../../../src/core/errors.ts";
import type { SagaRecord } from "../../../src/sagas/journal/journal.ts";
import type { Database } from "../../../src/storage/database.ts";
import { journalOn, KIND, LEASE_MS } from "./sagas.ts";

const [name, place, owner] = process.argv.slice(2) as [string, string, string];
const db = (name === "postgres" ? postgres({ url: place, connections: 2 }) : sqlite(place)) as Database;
const journal = journalOn(db);
const claimed: string[] = [];

/** Undefined if the database kept it waiting for too long: SQLite serves its writers in no order. A worker asks again as well. */
async function claim(): Promise<readonly SagaRecord[] | undefined> {
  return journal.claim([KIND], 7, owner, LEASE_MS).catch((error: unknown) => {
    if (error instanceof AmendsError && error.code === "DATABASE_UNREACHABLE") return undefined;
    throw error;
  });
}

process.once("message", () => {
  void (async () => {
    // PostgreSQL skips what others hold locked: only two empty claims in a row mean that nothing is left.
    for (let empty = 0; empty < 2;) {
      const records = await claim();
      if (!records) continue;
      claimed.push(...records.map((record) => record.id));
      empty = records.length === 0 ? empty + 1 : 0;
    }
    await db.close();
    process.send?.(claimed, () => process.disconnect());
  })();
});
process.send?.("ready");
