/** A process of its own that opens connections, closes its database when it is told to, and then has nothing left to do. */
import process from "node:process";
import { postgres } from "../../../src/postgres.ts";
import { sql } from "../../../src/storage/sql.ts";

const db = postgres({ url: process.argv[2] as string, connections: 2 });
const stop = db.listen?.(() => {
  void (async () => {
    await Promise.all([1, 2].map(() => db.query(sql`select pg_sleep(0.1)`)));
    process.send?.("connected");
  })();
});
process.once("message", () => {
  process.disconnect();
  stop?.();
  void db.close();
});
