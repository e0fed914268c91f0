/** Sagas as the journal sees them, for tests that look at storage alone. */
import { FIRST_CLAIM } from "../../support/claims.ts";
import { advance } from "../../../src/core/saga/advance.ts";
import type { Entry } from "../../../src/core/saga/entry.ts";
import { decodePlan } from "../../../src/core/saga/plan.ts";
import { DatabaseJournal } from "../../../src/sagas/journal/database-journal.ts";
import type { Checkpoint, KnownKind, NewSaga, SagaRecord } from "../../../src/sagas/journal/journal.ts";
import type { Database } from "../../../src/storage/database.ts";
import { sql } from "../../../src/storage/sql.ts";

const PLAN = decodePlan("one~ two~");
export const KIND: KnownKind = { name: "chain", version: 1, plan: PLAN, deadlineMs: undefined };
/** Of its rows. */
export const LANE = "chain@1#";
export const LEASE_MS = 60_000;

export function journalOn(db: Database): DatabaseJournal {
  return new DatabaseJournal({ db });
}

/** Recorded for any worker, unless an owner runs it at once. */
export function newSaga(id: string, owner?: string): NewSaga {
  return {
    id,
    name: KIND.name,
    definition: KIND.version,
    input: "{}",
    plan: PLAN,
    deadlineMs: undefined,
    owner,
    token: owner === undefined ? 0 : FIRST_CLAIM,
    leaseMs: LEASE_MS,
    interests: [],
    gate: undefined,
    priority: 0,
    attributes: undefined,
  };
}

/** The checkpoint that a worker with this copy of a saga would send. */
export function checkpointOf(record: SagaRecord, line: Entry, releaseMs?: number): Checkpoint {
  const go = releaseMs === undefined && line.status !== "STARTED";
  const { entry, state } = advance(record.state, line, { expired: false }, go);
  const moves = state.status !== record.state.status || releaseMs !== undefined;
  return {
    sagaId: record.id,
    epoch: record.epoch,
    token: record.token,
    version: record.version + 1,
    entry,
    emissions: [],
    move: moves
      ? { from: record.state.status, to: state.status, releaseMs, error: null, recovered: false }
      : undefined,
    state,
  };
}

export function done(step: string): Entry {
  return { step, action: "act", status: "COMPLETED", details: "null" };
}

/** A row as anybody with a database client could write it. */
export async function insertRow(
  db: Database,
  id: string,
  given: { status?: string; gateMs?: number | null; recoveries?: number; name?: string; plan?: string } = {},
): Promise<void> {
  const { dialect } = db;
  const { status = "PENDING", gateMs = null, recoveries = 0, name = KIND.name, plan = "one~ two~" } = given;
  const gate = gateMs === null ? sql`null` : dialect.plusMs(dialect.now(), gateMs);
  await db.query(sql`insert into ${dialect.table("saga_executions")}
      (id, name, kind, status, context, plan, recovery_attempts, next_attempt_at, created_at, updated_at)
    values (${id}, ${name}, ${`${name}@1#`}, ${status}, '{"input":{}}', ${plan}, ${recoveries}, ${gate}, ${dialect.now()}, ${dialect.now()})`);
}
