/**
 * The stages that book outcomes: the delivery's mark, and the run that it moves, each fenced by the other. All of an
 * outcome travels as one row, `r`, which has a number: later stages name it by that.
 */
import { flowMachine } from "../core/flow/machine.ts";
import { CLAIMABLE, HELD as IN_HAND, outboxMachine } from "../core/outbox/machine.ts";
import type { Column, Dialect } from "../storage/database.ts";
import { join, literals, raw, sql, type Sql } from "../storage/sql.ts";
import type { Settlement } from "./delivery.ts";
import { AT_REST } from "./run-handle.ts";

export const CLAIMED: string = outboxMachine.target("pending", "claim") as string;
export const SUPERSEDED: string = outboxMachine.target("pending", "supersede") as string;

const OUTCOME: readonly Column[] = [
  { name: "n", type: "int" },
  { name: "row_id", type: "uuid" },
  { name: "row_token", type: "int" },
  { name: "to_status", type: "text" },
  { name: "run_id", type: "text" },
  { name: "version", type: "int" },
  { name: "from_status", type: "text" },
  { name: "flow_status", type: "text" },
  { name: "current_step", type: "int" },
  { name: "completed_steps", type: "text" },
  { name: "trail", type: "text" },
  { name: "wait_ms", type: "text", usual: null },
  { name: "error", type: "text", usual: null },
  { name: "uncounted", type: "int", usual: 0 },
  { name: "undo_steps", type: "text", usual: "[]" },
  { name: "late_step", type: "text", usual: null },
  { name: "failed_step", type: "text", usual: null },
  { name: "failed_label", type: "text", usual: null },
  { name: "step_ms", type: "text", usual: null },
  { name: "keeps_due", type: "int", usual: 0 },
  { name: "note", type: "text", usual: null },
];

/** An outcome and its number among those that are written together. */
export interface Numbered {
  readonly n: number;
  readonly settlement: Settlement;
}

function outcomeRow({ n, settlement }: Numbered): unknown[] {
  const { delivery, to, waitMs, error, uncounted, move, out } = settlement;
  const mark = [n, delivery?.id, delivery?.token, to] as const;
  const rest = [waitMs, error, uncounted === true ? 1 : 0] as const;
  if (!move) return [...mark, ...UNMOVED, ...rest, "[]", null, null, null, null, 0, null];
  const { run, state, stepMs, note } = move;
  return [
    ...mark,
    run.sagaId,
    run.version,
    run.state.status,
    state.status,
    state.currentStep,
    JSON.stringify(state.completedSteps),
    trailOf(run.sagaId, out.rows),
    ...rest,
    state.undoSteps.length === 0 ? "[]" : JSON.stringify(state.undoSteps),
    state.lateStep,
    state.failure?.step,
    state.failure?.error,
    stepMs === "rest" ? null : stepMs,
    stepMs === "rest" ? 1 : 0,
    note,
  ];
}

const UNMOVED = [null, null, null, null, null, null, null] as const;

/** The rows that go out for the run, behind those that did before. */
function trailOf(run: string, rows: Settlement["out"]["rows"]): string {
  let trail = "";
  for (const { id, sagaId } of rows) if (sagaId === run) trail += ` ${id}`;
  return trail;
}

export function outcomes(dialect: Dialect, list: readonly Numbered[]): Sql {
  return dialect.rows(OUTCOME, list.map(outcomeRow));
}

/** Whoever holds a claim may settle it; what nobody holds may be superseded, if no claim has come in between. */
const HOLDING = sql`c.entry_id = r.row_id and c.token = r.row_token and (c.status || '' in (${literals(IN_HAND)})
  or (r.to_status = ${literals([SUPERSEDED])} and c.status || '' in (${literals(outboxMachine.sources("supersede"))})))`;

/** The columns of every stage that answers. */
export const ANSWER: readonly string[] = ["stage", "id", "status", "token", "at"];

export function answer(stage: string, id: string, dialect: Dialect, token: string = "0"): Sql {
  const zero = dialect.epochMs(dialect.now());
  return sql`${raw(`'${stage}'`)} as stage, cast(${raw(id)} as text) as id, '' as status, ${raw(token)} as token, ${zero} as at`;
}

/** The deliveries that are still ours, locked. */
export function takeHold(dialect: Dialect, held: readonly Numbered[]): Sql {
  return sql`select r.* from ${outcomes(dialect, held)}
    join ${dialect.table("outbox")} as c on ${HOLDING} ${dialect.forUpdateOf("c")}`;
}

/**
 * A run moves once per version; `mark` says by whose outcome. `free` are those that belong to no delivery. When it comes
 * to rest is kept beside its last change, for the indexes: as long as it goes on, none of them has to be touched.
 */
export function moveRuns(
  dialect: Dialect,
  held: readonly Numbered[],
  free: readonly Numbered[],
  isLocked: boolean,
): Sql {
  const step = dialect.plusMs(dialect.now(), raw("r.step_ms"));
  const watched = sql`r.flow_status in (${literals(flowMachine.sources("turnBack"))})`;
  const all = (list: readonly Numbered[]): Sql[] =>
    list.length === 0 ? [] : [sql`select * from ${outcomes(dialect, list)}`];
  const locked = isLocked ? [raw("select * from held")] : [];
  const given = dialect.linked([...locked, ...all(free)], [...all(held), ...all(free)]);
  const byTable = sql`(r.row_id is null or exists (select 1 from ${dialect.table("outbox")} as c where ${HOLDING}))`;
  return sql`update ${dialect.table("saga_state")} as s
    set status = r.flow_status, version = r.version + 1, mark = r.row_id, current_step = r.current_step,
      completed_steps = r.completed_steps, undo_steps = r.undo_steps, late_step = r.late_step,
      error = r.failed_step, error_label = r.failed_label, trail = s.trail || r.trail, updated_at = ${dialect.now()},
      rested_at = case when r.flow_status in (${literals(AT_REST)}) then ${dialect.now()} end,
      notes = case when r.note is null then s.notes else substr(s.notes, 1, length(s.notes) - 1)
        || case when s.notes = '[]' then '' else ',' end || r.note || ']' end,
      due_at = case when not ${watched} then null when r.keeps_due = 1 then s.due_at when r.step_ms is null then s.deadline_at
        when s.deadline_at < ${step} then s.deadline_at else ${step} end
    from (${join(given, " union all ")}) as r
    where s.saga_id = r.run_id and s.version = r.version and s.status = r.from_status
      and ${dialect.linked(raw("true"), byTable)}
    returning ${answer("moved", "saga_id", dialect)}${dialect.linked(raw(", r.n as n"), raw(""))}`;
}

export function markDeliveries(dialect: Dialect, held: readonly Numbered[], isLocked: boolean): Sql {
  const byTable = sql`exists (select 1 from ${dialect.table("saga_state")} as s
    where s.saga_id = r.run_id and s.version = r.version + 1 and s.mark = r.row_id)`;
  const byName = raw(isLocked ? "r.n in (select n from moved)" : "false");
  const rows = outcomes(dialect, held);
  const given = isLocked ? dialect.linked(raw("held as r"), rows) : rows;
  return sql`update ${dialect.table("outbox")} as c
    set status = r.to_status, last_error = coalesce(r.error, c.last_error), attempts = c.attempts - r.uncounted,
      next_attempt_at = case when r.wait_ms is null then null else ${dialect.plusMs(dialect.now(), raw("r.wait_ms"))} end
    from ${given} where ${HOLDING} and (r.run_id is null or ${dialect.linked(byName, byTable)})
    returning ${answer("marked", "entry_id", dialect, "token")}${dialect.linked(raw(", r.n as n"), raw(""))}`;
}

/** Of these, what an earlier, unanswered commit of ours has marked. */
export function selectMarked(dialect: Dialect, missing: readonly Numbered[]): Sql {
  return sql`select cast(c.entry_id as text) as id, c.token from ${outcomes(dialect, missing)}
    join ${dialect.table("outbox")} as c on c.entry_id = r.row_id and c.token = r.row_token and c.status = r.to_status`;
}

const KEY: readonly Column[] = [
  { name: "row_id", type: "uuid" },
  { name: "row_token", type: "int" },
];

/** Of these rows, which that commit was to write as ours, those that are. */
export function selectOurs(dialect: Dialect, ids: readonly string[]): Sql {
  const own = ids.map((id) => [id, 1]);
  return sql`select cast(c.entry_id as text) as id, c.status, c.token, ${dialect.epochMs(raw("c.enqueued_at"))} as at
    from ${dialect.rows(KEY, own)} join ${dialect.table("outbox")} as c on c.entry_id = r.row_id and c.token = r.row_token`;
}

const QUEUE: readonly Column[] = [
  { name: "handler", type: "text" },
  { name: "correlation", type: "text" },
  { name: "row_id", type: "uuid" },
];

/** Others that wait for the same handler in the same process: now it is their turn. */
export function selectBehind(dialect: Dialect, queued: readonly Numbered[]): Sql {
  const rows = queued.map(({ settlement: { queue, delivery } }) => [
    queue?.handler,
    queue?.correlation,
    delivery?.id,
  ]);
  return sql`select ${answer("behind", "b.entry_id", dialect)} from ${dialect.rows(QUEUE, rows)}
    join ${dialect.table("outbox")} as b on b.handler = r.handler and b.correlation = r.correlation
      and b.entry_id <> r.row_id and b.status in (${literals(CLAIMABLE)}) limit 1`;
}

/** Wakes other processes when this commits. */
export function tellOthers(dialect: Dialect, notice: Sql): Sql {
  return sql`select ${answer("told", "''", dialect)} from (${notice}) as n`;
}
