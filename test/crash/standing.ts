/** How things stand in a database: what somebody still has to do, what waits for a person, who holds what. */
import { CLAIMABLE as OPEN_ENTRIES, HELD } from "../../src/core/outbox/machine.ts";
import { CLAIMABLE as OPEN_SAGAS } from "../../src/core/saga/machine.ts";
import type { Database } from "../../src/storage/database.ts";
import { literals, sql } from "../../src/storage/sql.ts";

/** Events have no worker yet: they wait for ever. */
const WORKED_ON = ["erasure", "call"];

export function openWork(database: Database): Promise<number> {
  return count(database, OPEN_SAGAS, OPEN_ENTRIES);
}

export function stuckWork(database: Database): Promise<number> {
  return count(database, ["STALLED"], ["abandoned"]);
}

/** Entries under a claim, by id: the token that holds each. What relays events belongs to nobody who counts. */
export async function heldEntries(database: Database): Promise<ReadonlyMap<string, number>> {
  const rows = await database.query(
    sql`select entry_id, token from ${database.dialect.table("outbox")}
      where status in (${literals(HELD)}) and name <> '$audit'`,
  );
  return new Map(rows.map((row) => [row["entry_id"] as string, Number(row["token"])]));
}

async function count(
  database: Database,
  sagas: readonly string[],
  entries: readonly string[],
): Promise<number> {
  const { dialect } = database;
  const [row] = await database.query(
    sql`select (select count(*) from ${dialect.table("saga_executions")} where status in (${literals(sagas)}))
      + (select count(*) from ${dialect.table("outbox")}
        where status in (${literals(entries)}) and kind in (${literals(WORKED_ON)})) as found`,
  );
  return Number(row?.["found"]);
}
