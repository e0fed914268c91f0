/** Queries on the work in a database: what is open, what waits for an operator, and which claims hold which entry. */
import { OPEN_FLOWS } from "../../../src/core/flow/machine.ts";
import { CLAIMABLE as OPEN_ENTRIES, HELD } from "../../../src/core/outbox/machine.ts";
import { CLAIMABLE as OPEN_SAGAS } from "../../../src/core/saga/machine.ts";
import type { Database } from "../../../src/storage/database.ts";
import { literals, sql } from "../../../src/storage/sql.ts";
import type { RunContext } from "../scenarios/scenario.ts";

/** Kinds of entries that a worker handles. An event without a handler stays open for ever. */
const WORKED_ON = ["erasure", "call", "delivery"];
/** This event has a handler in every scenario, also if its publisher did not know the handler. */
const TRIGGER = "Placed";
const MOVING_FLOWS = OPEN_FLOWS.filter((status) => status !== "stalled");

export function openWork(database: Database): Promise<number> {
  return count(database, OPEN_SAGAS, OPEN_ENTRIES, MOVING_FLOWS);
}

export function stuckWork(database: Database): Promise<number> {
  return count(database, ["STALLED"], ["abandoned"], ["stalled"]);
}

/** The open work, for an error message. */
export async function describeOpen(database: Database): Promise<string> {
  const { dialect } = database;
  const found = await database.batch([
    sql`select id, status from ${dialect.table("saga_executions")} where status in (${literals(OPEN_SAGAS)})`,
    sql`select saga_id, status, undo_steps, late_steps from ${dialect.table("saga_state")}
      where status in (${literals(MOVING_FLOWS)})`,
    sql`select name, handler, status, attempts, token, next_attempt_at from ${dialect.table("outbox")}
      where status in (${literals(OPEN_ENTRIES)}) and kind <> 'event'`,
  ]);
  return JSON.stringify(found.flat());
}

const TABLES_MAX = 6_000;

/** Sagas with their lines, runs over events and the outbox, for the report of a violation: the first 6,000 characters. */
export async function describeTables(database: Database): Promise<string> {
  const { dialect } = database;
  const found = await database.batch([
    sql`select id, status, version, token, owner, recovery_attempts, error from ${dialect.table("saga_executions")}`,
    sql`select saga_id, id, token, step_name, action, status, details, next_step from ${dialect.table("saga_logs")}
      order by saga_id, id`,
    sql`select saga_id, status, version, current_step, completed_steps, undo_steps, late_steps, answers, error
      from ${dialect.table("saga_state")}`,
    sql`select entry_id, kind, name, handler, status, attempts, token, last_error from ${dialect.table("outbox")}
      order by entry_id`,
  ]);
  const text = found.flatMap((rows) => rows.map((row) => JSON.stringify(row))).join("\n");
  return text.length > TABLES_MAX ? `${text.slice(0, TABLES_MAX)} …` : text;
}

/** The token of each claimed entry, by id, without the relay of audit events. */
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
  flows: readonly string[],
): Promise<number> {
  const { dialect } = database;
  const [row] = await database.query(
    sql`select (select count(*) from ${dialect.table("saga_executions")} where status in (${literals(sagas)}))
      + (select count(*) from ${dialect.table("saga_state")} where status in (${literals(flows)}))
      + (select count(*) from ${dialect.table("outbox")} where status in (${literals(entries)})
        and (kind in (${literals(WORKED_ON)}) or name = ${TRIGGER})) as found`,
  );
  return Number(row?.["found"]);
}

/** Waits until no work is open, or until another process took over a claim of this one. */
export async function untilNothingOpen({
  database,
  lost,
}: Pick<RunContext, "database" | "lost">): Promise<void> {
  // The connection may have expired while the process was stopped: then the query is repeated.
  const isOpen = (): Promise<boolean> =>
    openWork(database).then(
      (found) => found > 0,
      () => true,
    );
  while (lost() === 0 && (await isOpen())) await pause();
}

export function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 15));
}
