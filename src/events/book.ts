/** The stages that book an outcome: the delivery's mark, and the run that it moves, each fenced by the other. */
import { flowMachine } from "../core/flow/machine.ts";
import { CLAIMABLE, HELD as IN_HAND, outboxMachine } from "../core/outbox/machine.ts";
import type { Column, Dialect } from "../storage/database.ts";
import { literals, raw, sql, type Sql } from "../storage/sql.ts";
import type { Settlement } from "./delivery.ts";

export const CLAIMED: string = outboxMachine.target("pending", "claim") as string;
export const SUPERSEDED: string = outboxMachine.target("pending", "supersede") as string;

export const HELD: readonly Column[] = [
  { name: "row_id", type: "uuid" },
  { name: "row_token", type: "int" },
  { name: "to_status", type: "text" },
  { name: "wait_ms", type: "text" },
  { name: "error", type: "text" },
  { name: "uncounted", type: "int" },
  { name: "run_id", type: "text" },
  { name: "run_version", type: "int" },
];

export function heldRow({ delivery, to, waitMs, error, uncounted, move }: Settlement): unknown[] {
  const { id, token } = delivery as NonNullable<typeof delivery>;
  const { sagaId = null, version = 0 } = move?.run ?? {};
  return [id, token, to, waitMs ?? null, error ?? null, uncounted ? 1 : 0, sagaId, version + 1];
}

/** Whoever holds a claim may settle it; what nobody holds may be superseded, if no claim has come in between. */
const HOLDING = sql`c.entry_id = r.row_id and c.token = r.row_token and (c.status || '' in (${literals(IN_HAND)})
  or (r.to_status = ${literals([SUPERSEDED])} and c.status || '' in (${literals(outboxMachine.sources("supersede"))})))`;

/** Names a claim: a row that was claimed again may be settled by both claims at once, and only one of them holds. */
export function claimName(id: string, token: string): Sql {
  return raw(`cast(${id} as text) || '#' || ${token}`);
}

/** The columns of every stage that answers. */
export const ANSWER: readonly string[] = ["stage", "id", "status", "token", "at"];

export function answer(stage: string, id: string, dialect: Dialect, token: string = "0"): Sql {
  const zero = dialect.epochMs(dialect.now());
  return sql`${raw(`'${stage}'`)} as stage, cast(${raw(id)} as text) as id, '' as status, ${raw(token)} as token, ${zero} as at`;
}

/** The deliveries that are still ours, locked. */
export function takeHold(dialect: Dialect, held: readonly Settlement[]): Sql {
  return sql`select r.* from ${dialect.rows(HELD, held.map(heldRow))}
    join ${dialect.table("outbox")} as c on ${HOLDING} ${dialect.forUpdateOf("c")}`;
}

const MOVE: readonly Column[] = [
  { name: "run_id", type: "text" },
  { name: "version", type: "int" },
  { name: "row_id", type: "uuid" },
  { name: "row_token", type: "int" },
  { name: "to_status", type: "text" },
  { name: "from_status", type: "text" },
  { name: "flow_status", type: "text" },
  { name: "current_step", type: "int" },
  { name: "completed_steps", type: "text" },
  { name: "undo_steps", type: "text" },
  { name: "late_step", type: "text" },
  { name: "error", type: "text" },
  { name: "error_label", type: "text" },
  { name: "step_ms", type: "text" },
  { name: "keeps_due", type: "int" },
  { name: "note", type: "text" },
  { name: "trail", type: "text" },
];

function moveRow({ delivery, to, move, out }: Settlement): unknown[] {
  const { run, state, stepMs, note } = move as NonNullable<typeof move>;
  const { status, currentStep, completedSteps, undoSteps, lateStep, failure } = state;
  return [
    run.sagaId,
    run.version,
    delivery?.id ?? null,
    delivery?.token ?? null,
    to,
    run.state.status,
    status,
    currentStep,
    JSON.stringify(completedSteps),
    JSON.stringify(undoSteps),
    lateStep ?? null,
    failure?.step ?? null,
    failure?.error ?? null,
    stepMs === "rest" ? null : (stepMs ?? null),
    stepMs === "rest" ? 1 : 0,
    note ?? null,
    out.rows.map(({ id, sagaId }) => (sagaId === run.sagaId ? ` ${id}` : "")).join(""),
  ];
}

/** A run moves once per version; `mark` says by whose outcome. */
export function moveRuns(dialect: Dialect, moves: readonly Settlement[], isLinked: boolean): Sql {
  const step = dialect.plusMs(dialect.now(), raw("r.step_ms"));
  const watched = sql`r.flow_status in (${literals(flowMachine.sources("turnBack"))})`;
  const byTable = sql`exists (select 1 from ${dialect.table("outbox")} as c where ${HOLDING})`;
  const byName = isLinked
    ? sql`${claimName("r.row_id", "r.row_token")} in (select ${claimName("row_id", "row_token")} from held)`
    : raw("false");
  return sql`update ${dialect.table("saga_state")} as s
    set status = r.flow_status, version = r.version + 1, mark = r.row_id, current_step = r.current_step,
      completed_steps = r.completed_steps, undo_steps = r.undo_steps, late_step = r.late_step,
      error = r.error, error_label = r.error_label, trail = s.trail || r.trail, updated_at = ${dialect.now()},
      notes = case when r.note is null then s.notes else substr(s.notes, 1, length(s.notes) - 1)
        || case when s.notes = '[]' then '' else ',' end || r.note || ']' end,
      due_at = case when not ${watched} then null when r.keeps_due = 1 then s.due_at when r.step_ms is null then s.deadline_at
        when s.deadline_at < ${step} then s.deadline_at else ${step} end
    from ${dialect.rows(MOVE, moves.map(moveRow))}
    where s.saga_id = r.run_id and s.version = r.version and s.status = r.from_status
      and (r.row_id is null or ${dialect.linked(byName, byTable)})
    returning ${answer("moved", "saga_id", dialect)}${dialect.linked(raw(", mark as moved_by"), raw(""))}`;
}

export function markDeliveries(dialect: Dialect, held: readonly Settlement[], isLinked: boolean): Sql {
  const byTable = sql`exists (select 1 from ${dialect.table("saga_state")} as s
    where s.saga_id = r.run_id and s.version = r.run_version and s.mark = r.row_id)`;
  const byName = isLinked ? raw("r.row_id in (select moved_by from moved)") : raw("false");
  const rows = dialect.rows(HELD, held.map(heldRow));
  const given = isLinked ? dialect.linked(raw("held as r"), rows) : rows;
  return sql`update ${dialect.table("outbox")} as c
    set status = r.to_status, last_error = coalesce(r.error, c.last_error), attempts = c.attempts - r.uncounted,
      next_attempt_at = case when r.wait_ms is null then null else ${dialect.plusMs(dialect.now(), raw("r.wait_ms"))} end
    from ${given} where ${HOLDING} and (r.run_id is null or ${dialect.linked(byName, byTable)})
    returning ${answer("marked", "entry_id", dialect, "token")}`;
}

const QUEUE: readonly Column[] = [
  { name: "handler", type: "text" },
  { name: "correlation", type: "text" },
  { name: "row_id", type: "uuid" },
];

/** Others that wait for the same handler in the same process: now it is their turn. */
export function selectBehind(dialect: Dialect, queued: readonly Settlement[]): Sql {
  const rows = queued.map(({ queue, delivery }) => [queue?.handler, queue?.correlation, delivery?.id]);
  return sql`select ${answer("behind", "b.entry_id", dialect)} from ${dialect.rows(QUEUE, rows)}
    join ${dialect.table("outbox")} as b on b.handler = r.handler and b.correlation = r.correlation
      and b.entry_id <> r.row_id and b.status in (${literals(CLAIMABLE)}) limit 1`;
}

/** Wakes other processes when this commits. */
export function tellOthers(dialect: Dialect, notice: Sql): Sql {
  return sql`select ${answer("told", "''", dialect)} from (${notice}) as n`;
}
