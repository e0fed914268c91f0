/** The only place that sees what the drivers return for events and their sagas: rows in, records out. */
import type { FlowStatus } from "../../core/flow/machine.ts";
import type { FlowState } from "../../core/flow/state.ts";
import type { OutboxStatus } from "../../core/outbox/machine.ts";
import type { Dialect, Row } from "../../storage/database.ts";
import { raw, sql, type Sql } from "../../storage/sql.ts";
import { readTraceparent, sagaTraceparent } from "../../runtime/trace.ts";
import type { TrailEntry } from "../../outbox/read/entry.ts";
import type { Delivery, RunRecord } from "../run/delivery.ts";

const DELIVERY = [
  "entry_id",
  "token",
  "event_id",
  "name",
  "event_version",
  "payload",
  "handler",
  "correlation",
  "causation",
  "saga_id",
  "attempts",
  "traceparent",
];

/** Without an alias: a claim returns them, and SQLite knows none there. */
export function deliveryColumns(dialect: Dialect): Sql {
  return sql`${raw(DELIVERY.join(", "))}, ${dialect.epochMs(raw("enqueued_at"))} as enqueued_at`;
}

export function toDelivery(row: Row): Delivery {
  const sagaId = text(row["saga_id"]);
  return {
    id: row["entry_id"] as string,
    token: Number(row["token"]),
    eventId: row["event_id"] as string,
    name: row["name"] as string,
    version: Number(row["event_version"]),
    payload: row["payload"] as string | null,
    handler: text(row["handler"]),
    correlation: text(row["correlation"]),
    causation: text(row["causation"]),
    sagaId,
    attempts: Number(row["attempts"]),
    timeMs: Number(row["enqueued_at"]),
    run: undefined,
    // What a saga of steps has sent belongs to that saga, whoever wrote it.
    trace:
      readTraceparent(row["traceparent"]) ?? (sagaId === undefined ? undefined : sagaTraceparent(sagaId)),
  };
}

const RUN = [
  "saga_id",
  "saga_type",
  "process_id",
  "run",
  "status",
  "current_step",
  "completed_steps",
  "undo_steps",
  "late_step",
  "error",
  "error_label",
  "version",
  "notes",
  "trail",
];
const RUN_INSTANTS = ["due_at", "deadline_at", "started_at", "updated_at"];

export function runColumns(dialect: Dialect): Sql {
  const instants = RUN_INSTANTS.map((name) => `${dialect.epochMs(raw(`s.${name}`)).text} as ${name}`);
  const plain = RUN.map((name) => `s.${name}`);
  return sql`${raw([...plain, ...instants].join(", "))}, ${dialect.epochMs(dialect.now())} as now_at`;
}

/** `hereMs` is what this process's clock says now: from here on it counts how much time is left. */
export function toRun(row: Row, hereMs: number): RunRecord {
  const left = (name: string): number | undefined =>
    row[name] === null || row[name] === undefined
      ? undefined
      : hereMs + Number(row[name]) - Number(row["now_at"]);
  return {
    sagaId: row["saga_id"] as string,
    sagaType: row["saga_type"] as string,
    processId: row["process_id"] as string,
    version: Number(row["version"]),
    state: toState(row),
    dueAtMs: left("due_at"),
    deadlineAtMs: left("deadline_at"),
  };
}

/** The rows of the outbox that were written for a run, in their order. */
export function trailOf(row: Row): readonly string[] {
  return (row["trail"] as string).split(" ");
}

export function toState(row: Row): FlowState {
  const step = text(row["error"]);
  return {
    status: row["status"] as FlowStatus,
    currentStep: Number(row["current_step"]),
    completedSteps: JSON.parse(row["completed_steps"] as string) as string[],
    undoSteps: JSON.parse(row["undo_steps"] as string) as string[],
    lateStep: text(row["late_step"]),
    failure: step === undefined ? undefined : { step, error: text(row["error_label"]) ?? "" },
  };
}

/** One row of the outbox that belongs to a run, as people see it. */
export interface RunEvent {
  readonly id: string;
  readonly event: string;
  readonly handler: string | undefined;
  readonly status: OutboxStatus;
  readonly attempts: number;
  readonly error: string | undefined;
  readonly at: Date;
}

export function toRunEvent(entry: TrailEntry): RunEvent {
  const { entryId, name, handler, status, attempts, lastError, enqueuedAt } = entry;
  return {
    id: entryId,
    event: name,
    handler,
    status,
    attempts,
    error: lastError,
    at: new Date(enqueuedAt),
  };
}

function text(value: unknown): string | undefined {
  return (value as string | null | undefined) ?? undefined;
}
