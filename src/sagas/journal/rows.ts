/** Maps rows of sagas and of their logs to records. No other file reads columns of these tables. */
import type { Entry, EntryStatus } from "../../core/saga/entry.ts";
import type { Direction } from "../../core/identity.ts";
import { decodePlan, type Plan } from "../../core/saga/plan.ts";
import { evolve } from "../../core/saga/evolve.ts";
import { initial, reversalOf, type SagaState } from "../../core/saga/state.ts";
import type { Attributes } from "../../core/start/attributes.ts";
import type { Limits } from "../../core/start/limits.ts";
import { claimCount, laterClaim } from "../../core/claim-token.ts";
import { AmendsError } from "../../core/errors.ts";
import type { SagaStatus } from "../../core/saga/machine.ts";
import { bigint, flag, float, instant, int, json, optional, text } from "../../storage/column.ts";
import type { Row } from "../../storage/database.ts";
import { projection, table, type Table } from "../../storage/table.ts";
import { OPERATOR_TOKEN, type LogEntry, type SagaRecord } from "./journal.ts";

interface ExecutionRow {
  readonly id: string;
  readonly name: string;
  readonly definition: number;
  readonly status: SagaStatus;
  readonly context: { readonly input?: unknown };
  readonly plan: string;
  readonly begun: boolean;
  readonly version: number;
  readonly token: number;
  readonly owner: string | undefined;
  readonly recoveryAttempts: number;
  readonly priority: number;
  readonly attributes: Attributes | undefined;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly deadlineAt: number | undefined;
  readonly runAt: number | undefined;
  readonly nextAttemptAt: number | undefined;
  readonly progress: string | undefined;
  readonly parentId: string | undefined;
  readonly parentStep: string | undefined;
  readonly reverses: string | undefined;
  readonly limits: Limits | undefined;
}

/** Instants are milliseconds since the epoch. */
export const EXECUTION: Table<ExecutionRow> = table("saga_executions", {
  id: text("id"),
  name: text("name"),
  definition: int("definition"),
  status: text<SagaStatus>("status"),
  context: json<{ readonly input?: unknown }>("context"),
  plan: text("plan"),
  begun: flag("begun"),
  version: int("version"),
  token: bigint("token"),
  owner: optional(text("owner")),
  recoveryAttempts: int("recovery_attempts"),
  priority: int("priority"),
  attributes: optional(json<Attributes>("attributes")),
  createdAt: instant("created_at"),
  updatedAt: instant("updated_at"),
  deadlineAt: optional(instant("deadline_at")),
  runAt: optional(instant("run_at")),
  nextAttemptAt: optional(instant("next_attempt_at")),
  progress: optional(text("progress")),
  parentId: optional(text("parent_id")),
  parentStep: optional(text("parent_step")),
  reverses: optional(text("reverses")),
  limits: optional(json<Limits>("limits")),
});

/** With the time of the database when it was read. */
const EXECUTION_NOW = projection({ ...EXECUTION.shape, nowAt: float("now_at") });

interface LineRow {
  readonly sagaId: string;
  readonly id: number;
  readonly token: number;
  readonly step: string;
  readonly action: Direction;
  readonly status: EntryStatus;
  readonly details: string | undefined;
  readonly nextStep: string | undefined;
  readonly nextAction: Direction | undefined;
  readonly createdAt: number;
}

export const LINE: Table<LineRow> = table("saga_logs", {
  sagaId: text("saga_id"),
  id: int("id"),
  token: bigint("token"),
  step: text("step_name"),
  action: text<Direction>("action"),
  status: text<EntryStatus>("status"),
  details: optional(text("details")),
  nextStep: optional(text("next_step")),
  nextAction: optional(text<Direction>("next_action")),
  createdAt: instant("created_at"),
});

export function toLogEntry(row: Row): LogEntry {
  const { id, token, step, action, status, details, nextStep, nextAction, createdAt } = LINE.read(row);
  return {
    id,
    token,
    step,
    action,
    status,
    details: details ?? null,
    atMs: createdAt,
    ...(nextStep !== undefined && { next: { step: nextStep, action: nextAction as Direction } }),
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

export function toRecord(given: Row, entries: readonly LogEntry[]): SagaRecord {
  const row = EXECUTION_NOW.read(given);
  if (hasForeignLines(row, entries)) throw new ForeignLines(row.id);
  const plan = decodePlan(row.plan);
  return {
    id: row.id,
    name: row.name,
    definition: row.definition,
    parent: parentOf(row),
    reverses: row.reverses,
    input: row.context.input,
    plan,
    begun: row.begun,
    version: Math.max(row.version, entries.at(-1)?.id ?? 0),
    token: entries.reduce((token, entry) => laterClaim(token, entry.token), row.token),
    owner: row.owner,
    recoveryAttempts: row.recoveryAttempts,
    priority: row.priority,
    attributes: row.attributes,
    limits: row.limits,
    epoch: 0,
    nowMs: row.nowAt,
    createdAtMs: row.createdAt,
    updatedAtMs: row.updatedAt,
    deadlineAtMs: row.deadlineAt,
    runAtMs: row.runAt,
    dueAtMs: row.nextAttemptAt,
    progress: row.progress,
    entries,
    state: fold(plan, row.begun, entries, row.status, row.createdAt),
  };
}

function parentOf({ parentId: id, parentStep: step }: ExecutionRow): SagaRecord["parent"] {
  return id === undefined || step === undefined ? undefined : { id, step };
}

/** How far a database's clock may be set back without making a saga look younger than its lines. */
const CLOCK_STEP_MS = 1_000;

/** Until its second claim every line of a saga is of its first one, or of a person. After that, the instants tell. */
function hasForeignLines({ token, createdAt }: ExecutionRow, entries: readonly LogEntry[]): boolean {
  const [first] = entries;
  if (first === undefined) return false;
  const isOther = (entry: LogEntry): boolean => entry.token !== token && entry.token !== OPERATOR_TOKEN;
  if (claimCount(token) === 1 && entries.some((entry) => isOther(entry) && claimCount(entry.token) <= 1))
    return true;
  return first.atMs !== undefined && first.atMs < createdAt - CLOCK_STEP_MS;
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
  const first = initial(plan, begun, createdAtMs);
  const reversed = entries.findIndex(({ step }) => step === "$reverse");
  if (reversed < 0) return entries.reduce(evolve, first);
  // The lines before it are those of the saga that is taken back.
  const completed = entries.slice(0, reversed).reduce(evolve, first);
  return entries.slice(reversed + 1).reduce(evolve, reversalOf(completed));
}
