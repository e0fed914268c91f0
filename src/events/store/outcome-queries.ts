/**
 * The stages that book outcomes: the delivery's mark, and the run that it moves, each fenced by the other. All of an
 * outcome travels as one row, `r`, which has a number: later stages name it by that.
 */
import { FIRST_CLAIM } from "../../core/claim-token.ts";
import { flowMachine } from "../../core/flow/machine.ts";
import { CLAIMABLE, HELD as IN_HAND, outboxMachine, SUPERSEDED } from "../../core/outbox/machine.ts";
import type { WriteMode } from "../../storage/checked-write.ts";
import type { Column, Dialect } from "../../storage/database.ts";
import { literals, raw, sql, type Sql } from "../../storage/sql.ts";
import type { Settlement } from "../run/delivery.ts";
import { AT_REST } from "../run-handle.ts";

export const CLAIMED: string = outboxMachine.target("pending", "claim") as string;

const MARK: readonly Column[] = [
  { name: "row_id", type: "uuid" },
  { name: "row_token", type: "bigint" },
  { name: "to_status", type: "text" },
  { name: "wait_ms", type: "text", default: null },
  { name: "error", type: "text", default: null },
  { name: "uncounted", type: "int", default: 0 },
];
const MOVE: readonly Column[] = [
  { name: "run_id", type: "text" },
  { name: "version", type: "int" },
  { name: "from_status", type: "text" },
  { name: "flow_status", type: "text" },
  { name: "current_step", type: "int" },
  { name: "completed_steps", type: "text" },
  { name: "trail", type: "text" },
  { name: "undo_steps", type: "text", default: "[]" },
  { name: "late_step", type: "text", default: null },
  { name: "failed_step", type: "text", default: null },
  { name: "failed_label", type: "text", default: null },
  { name: "step_ms", type: "text", default: null },
  { name: "keeps_due", type: "int", default: 0 },
  { name: "note", type: "text", default: null },
];
/** A move by itself names the delivery by which the run is moved. */
const MOVE_BY: readonly Column[] = [{ name: "row_id", type: "uuid" }, ...MOVE];
const OUTCOME: readonly Column[] = [{ name: "n", type: "int" }, ...MARK, ...MOVE];

/** An outcome and its number among those that are written together. */
export interface Numbered {
  readonly n: number;
  readonly settlement: Settlement;
}

function markRow({ settlement: { delivery, to, waitMs, error, uncounted } }: Numbered): unknown[] {
  return [delivery?.id, delivery?.token, to, waitMs, error, uncounted === true ? 1 : 0];
}

function moveRow({ settlement: { move, out } }: Numbered): unknown[] {
  if (!move) return UNMOVED;
  const { run, state, stepMs, note } = move;
  return [
    run.sagaId,
    run.version,
    run.state.status,
    state.status,
    state.currentStep,
    JSON.stringify(state.completedSteps),
    trailOf(run.sagaId, out.rows),
    state.undoSteps.length === 0 ? "[]" : JSON.stringify(state.undoSteps),
    state.lateStep,
    state.failure?.step,
    state.failure?.error,
    stepMs === "rest" ? null : stepMs,
    stepMs === "rest" ? 1 : 0,
    note,
  ];
}

const UNMOVED: unknown[] = MOVE.map(({ default: common }) => common ?? null);

/** The rows that go out for the run, behind those that did before. */
function trailOf(run: string, rows: Settlement["out"]["rows"]): string {
  let trail = "";
  for (const { id, sagaId } of rows) if (sagaId === run) trail += ` ${id}`;
  return trail;
}

function marks(dialect: Dialect, list: readonly Numbered[]): Sql {
  return dialect.rows(MARK, list.map(markRow));
}

function moves(dialect: Dialect, list: readonly Numbered[]): Sql {
  return dialect.rows(
    MOVE_BY,
    list.map((one) => [one.settlement.delivery?.id, ...moveRow(one)]),
  );
}

function outcomes(dialect: Dialect, list: readonly Numbered[]): Sql {
  return dialect.rows(
    OUTCOME,
    list.map((one) => [one.n, ...markRow(one), ...moveRow(one)]),
  );
}

/** Whoever holds a claim may settle it; what nobody holds may be superseded, if no claim has come in between. */
const HOLDING = sql`c.entry_id = r.row_id and c.token = r.row_token and (c.status || '' in (${literals(IN_HAND)})
  or (r.to_status = ${literals([SUPERSEDED])} and c.status || '' in (${literals(outboxMachine.sources("supersede"))})))`;

/** The columns of every stage that answers. */
export const ANSWER: readonly string[] = ["stage", "id", "status", "token", "at"];

function answer(stage: string, id: string, dialect: Dialect, token: string = "0"): Sql {
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
  mode: WriteMode,
): Sql {
  if (mode === "optimistic") return sql`${moved(dialect, moves(dialect, held), raw("true"))} returning 1`;
  const all = [...held, ...free];
  const byTable = sql`(r.row_id is null or exists (select 1 from ${dialect.table("outbox")} as c where ${HOLDING}))`;
  const byName = raw(`(r.row_id is null or r.n in (select n from held))`);
  const fence = dialect.pick({ postgres: held.length > 0 ? byName : raw("true"), sqlite: byTable });
  return sql`${moved(dialect, outcomes(dialect, all), fence)}
    returning ${answer("moved", "saga_id", dialect)}${dialect.pick({ postgres: raw(", r.n as n"), sqlite: raw("") })}`;
}

function moved(dialect: Dialect, given: Sql, fence: Sql): Sql {
  const step = dialect.plusMs(dialect.now(), raw("r.step_ms"));
  const watched = sql`r.flow_status in (${literals(flowMachine.sources("turnBack"))})`;
  return sql`update ${dialect.table("saga_state")} as s
    set status = r.flow_status, version = r.version + 1, mark = r.row_id, current_step = r.current_step,
      completed_steps = r.completed_steps, undo_steps = r.undo_steps, late_step = r.late_step,
      error = r.failed_step, error_label = r.failed_label, trail = s.trail || r.trail, updated_at = ${dialect.now()},
      rested_at = case when r.flow_status in (${literals(AT_REST)}) then ${dialect.now()} end,
      notes = case when r.note is null then s.notes else substr(s.notes, 1, length(s.notes) - 1)
        || case when s.notes = '[]' then '' else ',' end || r.note || ']' end,
      due_at = case when not ${watched} then null when r.keeps_due = 1 then s.due_at when r.step_ms is null then s.deadline_at
        when s.deadline_at < ${step} then s.deadline_at else ${step} end
    from ${given} where s.saga_id = r.run_id and s.version = r.version and s.status = r.from_status and ${fence}`;
}

export function markDeliveries(
  dialect: Dialect,
  held: readonly Numbered[],
  hasMoves: boolean,
  mode: WriteMode,
): Sql {
  if (mode === "optimistic") return sql`${marked(dialect, marks(dialect, held), raw("true"))} returning 1`;
  const byTable = sql`exists (select 1 from ${dialect.table("saga_state")} as s
    where s.saga_id = r.run_id and s.version = r.version + 1 and s.mark = r.row_id)`;
  const byName = raw(hasMoves ? "r.n in (select n from moved)" : "false");
  const fence = sql`(r.run_id is null or ${dialect.pick({ postgres: byName, sqlite: byTable })})`;
  const rows = outcomes(dialect, held);
  const given = hasMoves ? dialect.pick({ postgres: raw("held as r"), sqlite: rows }) : rows;
  return sql`${marked(dialect, given, fence)}
    returning ${answer("marked", "entry_id", dialect, "token")}${dialect.pick({ postgres: raw(", r.n as n"), sqlite: raw("") })}`;
}

function marked(dialect: Dialect, given: Sql, fence: Sql): Sql {
  return sql`update ${dialect.table("outbox")} as c
    set status = r.to_status, last_error = coalesce(r.error, c.last_error), attempts = c.attempts - r.uncounted,
      next_attempt_at = case when r.wait_ms is null then null else ${dialect.plusMs(dialect.now(), raw("r.wait_ms"))} end
    from ${given} where ${HOLDING} and ${fence}`;
}

/** Of these, what an earlier, unanswered commit of ours has marked. */
export function selectMarked(dialect: Dialect, missing: readonly Numbered[]): Sql {
  return sql`select cast(c.entry_id as text) as id, c.token from ${marks(dialect, missing)}
    join ${dialect.table("outbox")} as c on c.entry_id = r.row_id and c.token = r.row_token and c.status = r.to_status`;
}

const KEY: readonly Column[] = [
  { name: "row_id", type: "uuid" },
  { name: "row_token", type: "bigint" },
];

/** Of these rows, which that commit was to write as ours, those that are. */
export function selectOurs(dialect: Dialect, ids: readonly string[]): Sql {
  const own = ids.map((id) => [id, FIRST_CLAIM]);
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
