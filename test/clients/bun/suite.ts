/** The suites of all clients, for those that only Bun has. `bun test` runs this file: test/clients/native/bun.test.ts. */
import { describe, expect, it } from "vitest";
import { CHECKS } from "../conformance.ts";
import { SYNC_CHECKS } from "../sync-conformance.ts";
import { onBunSql, onDrizzleBunSql } from "./bun-sql.ts";
import { onBunSqlite, onDrizzleBunSqlite, onDrizzleNodeSqlite } from "./sqlite.ts";

function runAll<Client extends { readonly name: string }>(
  clients: readonly Client[],
  checks: readonly { readonly title: string; run(client: Client): Promise<void> }[],
): void {
  for (const client of clients)
    describe(client.name, () => {
      for (const { title, run } of checks)
        it(title, async () => {
          await run(client);
          expect.hasAssertions();
        });
    });
}

runAll([onBunSql, onDrizzleBunSql], CHECKS);
runAll([onBunSqlite, onDrizzleBunSqlite, onDrizzleNodeSqlite], SYNC_CHECKS);
