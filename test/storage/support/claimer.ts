/** A process of its own that claims whatever is due until nothing is left, and says what it got. */
import process from "node:process";
import { postgres } from "../../../src/postgres.ts";
import { sqlite } from "../../../src/sqlite.ts";
import type { Database } from "../../../src/storage/database.ts";
import { journalOn, KIND, LEASE_MS } from "./sagas.ts";

const [name, place, owner] = process.argv.slice(2) as [string, string, string];
const db = (name === "postgres" ? postgres({ url: place, connections: 2 }) : sqlite(place)) as Database;
const journal = journalOn(db);
const claimed: string[] = [];

process.once("message", () => {
  void (async () => {
    // PostgreSQL skips what others hold locked: only two empty claims in a row mean that nothing is left.
    for (let empty = 0; empty < 2;) {
      const records = await journal.claim([KIND], 7, owner, LEASE_MS);
      claimed.push(...records.map((record) => record.id));
      empty = records.length === 0 ? empty + 1 : 0;
    }
    await db.close();
    process.send?.(claimed, () => process.disconnect());
  })();
});
process.send?.("ready");
