/** Maps rows of sagas and of their logs to records. No other file reads columns of these tables. */
import type { Entry, EntryStatus } from "../../core/saga/entry.ts";
import type { Direction } from "../../core/identity.ts";
import { decodePlan, type Plan } from "../../core/saga/plan.ts";
import { evolve } from "../../core/saga/evolve.ts";
import { initial, type SagaState } from "../../core/saga/state.ts";
import { claimCount, laterClaim } from "../../core/claim-token.ts";
import { AmendsError } from "../../core/errors.ts";
import type { Dialect, Row } from "../../storage/database.ts";
import { join, raw, sql, type Sql } from "../../storage/sql.ts";
import { OPERATOR_TOKEN, type LogEntry, type SagaRecord } from "./journal.ts";

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

/**
 * Lines that are older than their saga belong to one that had the same id, and whose row the database has lost. Adding
 * them up would give this saga a history that it does not have.
 */
export class ForeignLines extends AmendsError {
  constructor(id: string) {
    super(
      "DATABASE_REWOUND",
      "The log of this saga has lines from before it was created: the database lost an earlier saga with the same id. See the runbook in docs/guides/failover.md.",
      { id },
    );
  }
}

export function toRecord(row: Row, entries: readonly LogEntry[]): SagaRecord {
  if (hasForeignLines(row, entries)) throw new ForeignLines(row["id"] as string);
  const plan = decodePlan(row["plan"] as string);
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
    token: entries.reduce((token, entry) => laterClaim(token, entry.token), Number(row["token"])),
    owner: (row["owner"] as string | null) ?? undefined,
    recoveryAttempts: Number(row["recovery_attempts"]),
    epoch: 0,
    nowMs: Number(row["now_at"]),
    createdAtMs: Number(row["created_at"]),
    updatedAtMs: Number(row["updated_at"]),
    deadlineAtMs: instant(row["deadline_at"]),
    dueAtMs: instant(row["next_attempt_at"]),
    entries,
    state: fold(plan, begun, entries, row["status"] as SagaState["status"], Number(row["created_at"])),
  };
}

/** How far a database's clock may be set back without making a saga look younger than its lines. */
const CLOCK_STEP_MS = 1_000;

/** Until its second claim every line of a saga is of its first one, or of a person. After that, the instants tell. */
function hasForeignLines(row: Row, entries: readonly LogEntry[]): boolean {
  const [first] = entries;
  if (first === undefined) return false;
  const token = Number(row["token"]);
  const isOther = (entry: LogEntry): boolean => entry.token !== token && entry.token !== OPERATOR_TOKEN;
  if (claimCount(token) === 1 && entries.some((entry) => isOther(entry) && claimCount(entry.token) <= 1))
    return true;
  return first.atMs !== undefined && first.atMs < Number(row["created_at"]) - CLOCK_STEP_MS;
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
