/**
 * In the caller's own transaction, with SQLite: your handle on the same file is the transaction. It must come from the
 * same SQLite that Amends uses, so it is opened with `openSqlite`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Amends, saga } from "amends";
import { openSqlite, sqlite } from "amends/sqlite";
import { z } from "zod";

const fulfil = saga("fulfil", z.object({ orderId: z.string() })).step("pack", {
  act: ({ input }) => `box for ${input.orderId}`,
});

const folder = mkdtempSync(path.join(tmpdir(), "amends-example-"));
const file = path.join(folder, "shop.db");

const amends = new Amends({ database: sqlite(file), sagas: [fulfil] });
await amends.migrate();
await amends.worker({ poll: "50ms" }).start();

// Your own handle: what Amends does meanwhile is not part of your transactions, nor the other way round.
const handle = openSqlite(file);
handle.exec("create table orders (id text primary key)");

async function placeOrder(orderId: string, change: "commit" | "rollback"): Promise<void> {
  handle.exec("begin immediate");
  handle.prepare("insert into orders (id) values (?)").run(orderId);
  await amends.start(fulfil, { orderId }, { id: orderId, tx: handle });
  handle.exec(change);
}

await placeOrder("o-1", "commit");
await placeOrder("o-2", "rollback");

const run = await amends.get("o-1");
console.log("o-1", (await run.result()).status);
console.log("o-2", (await amends.inspect("o-2"))?.status ?? "does not exist");

await amends.close(); // leaves your handle alone
handle.close();
rmSync(folder, { recursive: true });
