/** The only place that sees what the drivers return for sagas: rows in, records out. */
import type { Entry, EntryStatus } from "../core/saga/entry.ts";
import type { Direction } from "../core/identity.ts";
import { decodePlan, type Plan } from "../core/saga/plan.ts";
import { evolve, initial, type SagaState } from "../core/saga/state.ts";
import type { Dialect, Row } from "../storage/database.ts";
import { join, raw, sql, type Sql } from "../storage/sql.ts";
import type { LogEntry, SagaRecord } from "./journal.ts";

const EXECUTION = [
  "id",
  "name",
  "definition",
  "status",
  "context",
  "plan",
  "version",
  "token",
  "owner",
  "recovery_attempts",
];
const INSTANTS = ["created_at", "updated_at", "deadline_at", "next_attempt_at"];
const LOG = [
  "saga_id",
  "id",
  "token",
  "step_name",
  "action",
  "status",
  "details",
  "next_step",
  "next_action",
];

/** Columns of a saga's row, under an alias where there is one. */
export function executionColumns(dialect: Dialect, alias?: string): Sql {
  const of = (name: string): string => (alias === undefined ? name : `${alias}.${name}`);
  const plain = EXECUTION.map(of).join(", ");
  const instants = INSTANTS.map((name) => sql`${dialect.epochMs(raw(of(name)))} as ${raw(name)}`);
  const begun = sql`case when ${raw(of("begun"))} then 1 else 0 end as begun`;
  return join([raw(plain), begun, ...instants, sql`${dialect.epochMs(dialect.now())} as now_at`], ", ");
}

export function logColumns(dialect: Dialect): Sql {
  return sql`${raw(LOG.join(", "))}, ${dialect.epochMs(raw("created_at"))} as created_at`;
}

export function toLogEntry(row: Row): LogEntry {
  const next = row["next_step"] as string | null;
  return {
    id: Number(row["id"]),
    token: Number(row["token"]),
    step: row["step_name"] as string,
    action: row["action"] as Direction,
    status: row["status"] as EntryStatus,
    details: row["details"] as string | null,
    atMs: Number(row["created_at"]),
    ...(next === null ? {} : { next: { step: next, action: row["next_action"] as Direction } }),
  };
}

export function toRecord(row: Row, entries: readonly LogEntry[]): SagaRecord {
  const plan = row["plan"] === "" ? [] : decodePlan(row["plan"] as string);
  const begun = Number(row["begun"]) === 1;
  const context = JSON.parse(row["context"] as string) as { input?: unknown };
  return {
    id: row["id"] as string,
    name: row["name"] as string,
    definition: Number(row["definition"]),
    input: context.input,
    plan,
    begun,
    version: Math.max(Number(row["version"]), entries.at(-1)?.id ?? 0),
    token: Math.max(Number(row["token"]), ...entries.map((entry) => entry.token)),
    owner: (row["owner"] as string | null) ?? undefined,
    recoveryAttempts: Number(row["recovery_attempts"]),
    nowMs: Number(row["now_at"]),
    createdAtMs: Number(row["created_at"]),
    updatedAtMs: Number(row["updated_at"]),
    deadlineAtMs: instant(row["deadline_at"]),
    dueAtMs: instant(row["next_attempt_at"]),
    entries,
    state: fold(plan, begun, entries, row["status"] as SagaState["status"], Number(row["created_at"])),
  };
}

/** Rows that were written through the storage contract alone have no plan: their status is what was set. */
export function fold(
  plan: Plan,
  begun: boolean,
  entries: readonly Entry[],
  status: SagaState["status"],
  createdAtMs: number,
): SagaState {
  if (plan.length === 0) return { ...initial(plan, false), status };
  return entries.reduce(evolve, initial(plan, begun, createdAtMs));
}

function instant(value: unknown): number | undefined {
  return value === null || value === undefined ? undefined : Number(value);
}
