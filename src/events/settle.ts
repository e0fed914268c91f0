/**
 * The hot statements: the outcomes of many deliveries in one transaction. Each outcome is all or nothing: its delivery
 * must still be held under its token, the run that it moves must still be at the version that the decision was made
 * on, and only then is anything of it written. Outcomes that do not hold are refused, and cost the others nothing.
 *
 * Safe to repeat after a commit whose fate is unknown: what is in the books already is found there, and stays.
 */
import { flowMachine, OPEN_FLOWS } from "../core/flow/machine.ts";
import { CLAIMABLE, outboxMachine } from "../core/outbox/machine.ts";
import type { Column, Dialect, Row } from "../storage/database.ts";
import { literals, raw, sql, type Sql } from "../storage/sql.ts";
import type { Execute } from "../sagas/flush.ts";
import type { NewRow, NewRun, Settlement } from "./delivery.ts";

export interface Settled {
  readonly applied: boolean;
  /** Of the rows that were to be claimed at once: those that are ours, and since when they exist. */
  readonly claimed: ReadonlyMap<string, number>;
  /** Something waits behind one of those that were settled together, and may be claimed now. */
  readonly more: boolean;
}

export interface Piece {
  readonly settlement: Settlement;
  /** The rows that this process takes at once, where nothing that came before is in their way. */
  readonly claims: ReadonlySet<string>;
}

export async function settleTogether(
  dialect: Dialect,
  execute: Execute,
  pieces: readonly Piece[],
  leaseMs: number,
): Promise<readonly Settled[]> {
  const settlements = pieces.map((piece) => piece.settlement);
  const claims = firstInTurn(pieces);
  const held = settlements.filter((one) => one.delivery !== undefined);
  const moves = settlements.filter((one) => one.move !== undefined);
  const runs = settlements.flatMap((one) => one.out.runs.map((run) => [run, one] as const));
  const rows = settlements.flatMap((one) => one.out.rows.map((row) => [row, one] as const));
  const statements: Sql[] = [];
  const add = (when: boolean, make: () => Sql): number => (when ? statements.push(make()) - 1 : -1);
  add(moves.some((one) => one.delivery), () => lockDeliveries(dialect, held));
  const moved = add(moves.length > 0, () => moveRuns(dialect, moves));
  const marked = add(held.length > 0, () => markDeliveries(dialect, held));
  add(runs.length > 0, () => insertRuns(dialect, runs));
  const inserted = add(rows.length > 0, () => insertRows(dialect, rows, claims, leaseMs));
  const queued = held.filter((one) => one.queue !== undefined);
  const behind = add(queued.length > 0, () => selectBehind(dialect, queued));
  const notice = rows.some(([row]) => !claims.has(row.id)) ? dialect.notify() : undefined;
  if (notice) statements.push(notice);
  const results = await execute(statements);
  const done = new Set((results[marked] ?? []).map((row) => row["entry_id"] as string));
  const news = [...(results[inserted] ?? [])];
  await lookAgain(dialect, execute, held, claims, done, news);
  const ours = new Map(news.filter(isOurs).map((row) => [row["entry_id"] as string, Number(row["enqueued_at"])]));
  const steered = new Set((results[moved] ?? []).map((row) => row["saga_id"] as string));
  return settlements.map(({ delivery, move, out }) => {
    const applied = delivery ? done.has(delivery.id) : move ? steered.has(move.run.sagaId) : true;
    const taken = out.rows.flatMap(({ id }) => {
      const at = claims.has(id) ? ours.get(id) : undefined;
      return at === undefined ? [] : [[id, at] as const];
    });
    return { applied, claimed: new Map(applied ? taken : []), more: (results[behind] ?? []).length > 0 };
  });
}

function isOurs(row: Row): boolean {
  return row["status"] === CLAIMED && Number(row["token"]) === 1;
}

/** Of several rows for one handler in one process, only the first is taken at once. */
function firstInTurn(pieces: readonly Piece[]): ReadonlySet<string> {
  const claims = new Set<string>();
  const queues = new Set<string>();
  for (const { settlement, claims: wanted } of pieces) {
    for (const { id, handler, correlation } of settlement.out.rows) {
      const queue = `${handler ?? ""}\n${correlation ?? id}`;
      if (wanted.has(id) && !queues.has(queue)) claims.add(id);
      queues.add(queue);
    }
  }
  return claims;
}

/** What an earlier, unanswered commit of ours has written is in the books, though nothing was written now. */
async function lookAgain(
  dialect: Dialect,
  execute: Execute,
  held: readonly Settlement[],
  claims: ReadonlySet<string>,
  done: Set<string>,
  news: Row[],
): Promise<void> {
  const missing = held.filter(({ delivery }) => delivery && !done.has(delivery.id));
  if (missing.length === 0) return;
  const outbox = dialect.table("outbox");
  const found = await execute([
    sql`select c.entry_id from ${dialect.rows(HELD, missing.map(heldRow))}
      join ${outbox} as c on c.entry_id = r.row_id and c.token = r.row_token and c.status = r.to_status`,
  ]);
  for (const row of found[0] ?? []) done.add(row["entry_id"] as string);
  const own = missing
    .filter(({ delivery }) => delivery && done.has(delivery.id))
    .flatMap(({ out }) => out.rows.filter((row) => claims.has(row.id)).map((row) => [row.id, 1]));
  if (own.length === 0) return;
  const [again] = await execute([
    sql`select c.entry_id, c.status, c.token, ${dialect.epochMs(raw("c.enqueued_at"))} as enqueued_at
      from ${dialect.rows(HELD.slice(0, 2), own)} join ${outbox} as c on c.entry_id = r.row_id and c.token = r.row_token`,
  ]);
  news.push(...(again ?? []));
}

const HELD: readonly Column[] = [
  { name: "row_id", type: "uuid" },
  { name: "row_token", type: "int" },
  { name: "to_status", type: "text" },
  { name: "wait_ms", type: "text" },
  { name: "error", type: "text" },
  { name: "uncounted", type: "int" },
  { name: "saga_id", type: "text" },
  { name: "saga_version", type: "int" },
];

function heldRow({ delivery, to, waitMs, error, uncounted, move }: Settlement): unknown[] {
  const { id, token } = delivery as NonNullable<typeof delivery>;
  const run = move?.run;
  return [id, token, to, waitMs ?? null, error ?? null, uncounted ? 1 : 0, run?.sagaId ?? null, (run?.version ?? 0) + 1];
}

const IN_HAND = literals(outboxMachine.sources("succeed"));
const CLAIMED = outboxMachine.target("pending", "claim") as string;
const WAITING = outboxMachine.target("in_flight", "release") as string;
const SUPERSEDED = outboxMachine.target("pending", "supersede") as string;

/** Whoever holds a claim may settle it; what nobody holds may be superseded, if no claim has come in between. */
const HOLDING = sql`c.entry_id = r.row_id and c.token = r.row_token and (c.status || '' in (${IN_HAND})
  or (r.to_status = ${literals([SUPERSEDED])} and c.status || '' in (${literals(outboxMachine.sources("supersede"))})))`;

/** Deliveries before runs, by everybody, so that nobody waits in a circle. */
function lockDeliveries(dialect: Dialect, held: readonly Settlement[]): Sql {
  return sql`select c.entry_id from ${dialect.rows(HELD, held.map(heldRow))}
    join ${dialect.table("outbox")} as c on ${HOLDING} order by c.entry_id ${dialect.forUpdateOf("c")}`;
}

const MOVE: readonly Column[] = [
  { name: "run_id", type: "text" },
  { name: "version", type: "int" },
  { name: "row_id", type: "uuid" },
  { name: "row_token", type: "int" },
  { name: "to_status", type: "text" },
  { name: "flow_status", type: "text" },
  { name: "current_step", type: "int" },
  { name: "completed_steps", type: "text" },
  { name: "undo_steps", type: "text" },
  { name: "late_step", type: "text" },
  { name: "error", type: "text" },
  { name: "error_label", type: "text" },
  { name: "step_ms", type: "text" },
  { name: "note", type: "text" },
];

/** A run moves once per version; `mark` says by whose outcome. */
function moveRuns(dialect: Dialect, moves: readonly Settlement[]): Sql {
  const rows = moves.map(({ delivery, to, move }) => {
    const { run, state, stepMs, note } = move as NonNullable<typeof move>;
    const { status, currentStep, completedSteps, undoSteps, lateStep, failure } = state;
    const lists = [JSON.stringify(completedSteps), JSON.stringify(undoSteps)];
    const why = [lateStep ?? null, failure?.step ?? null, failure?.error ?? null];
    const whose = [delivery?.id ?? null, delivery?.token ?? null, to];
    return [run.sagaId, run.version, ...whose, status, currentStep, ...lists, ...why, stepMs ?? null, note ?? null];
  });
  const step = dialect.plusMs(dialect.now(), raw("r.step_ms"));
  const watched = sql`r.flow_status in (${literals(flowMachine.sources("turnBack"))})`;
  return sql`update ${dialect.table("saga_state")} as s
    set status = r.flow_status, version = r.version + 1, mark = r.row_id, current_step = r.current_step,
      completed_steps = r.completed_steps, undo_steps = r.undo_steps, late_step = r.late_step,
      error = r.error, error_label = r.error_label, updated_at = ${dialect.now()},
      notes = case when r.note is null then s.notes else substr(s.notes, 1, length(s.notes) - 1)
        || case when s.notes = '[]' then '' else ',' end || r.note || ']' end,
      due_at = case when not ${watched} then null when r.step_ms is null then s.deadline_at
        when s.deadline_at < ${step} then s.deadline_at else ${step} end
    from ${dialect.rows(MOVE, rows)}
    where s.saga_id = r.run_id and s.version = r.version and s.status in (${literals(OPEN_FLOWS)})
      and (r.row_id is null or exists (select 1 from ${dialect.table("outbox")} as c where ${HOLDING}))
    returning saga_id`;
}

function markDeliveries(dialect: Dialect, held: readonly Settlement[]): Sql {
  const moved = sql`exists (select 1 from ${dialect.table("saga_state")} as s
    where s.saga_id = r.saga_id and s.version = r.saga_version and s.mark = r.row_id)`;
  return sql`update ${dialect.table("outbox")} as c
    set status = r.to_status, last_error = coalesce(r.error, c.last_error), attempts = c.attempts - r.uncounted,
      next_attempt_at = case when r.wait_ms is null then null else ${dialect.plusMs(dialect.now(), raw("r.wait_ms"))} end
    from ${dialect.rows(HELD, held.map(heldRow))}
    where ${HOLDING} and (r.saga_id is null or ${moved}) returning entry_id`;
}

const QUEUE: readonly Column[] = [
  { name: "handler", type: "text" },
  { name: "correlation", type: "text" },
];

function selectBehind(dialect: Dialect, queued: readonly Settlement[]): Sql {
  const rows = queued.map(({ queue }) => [queue?.handler, queue?.correlation]);
  return sql`select b.entry_id from ${dialect.rows(QUEUE, rows)} join ${dialect.table("outbox")} as b
    on b.handler = r.handler and b.correlation = r.correlation and b.status in (${literals(CLAIMABLE)}) limit 1`;
}

const CAUSE: readonly Column[] = [
  { name: "cause_id", type: "uuid" },
  { name: "cause_token", type: "int" },
  { name: "cause_status", type: "text" },
];

const NEW_RUN: readonly Column[] = [
  { name: "saga_id", type: "text" },
  { name: "saga_type", type: "text" },
  { name: "process_id", type: "text" },
  { name: "trigger_id", type: "uuid" },
  { name: "step_ms", type: "text" },
  { name: "deadline_ms", type: "text" },
  ...CAUSE,
];

function causeOf({ delivery, to }: Settlement): unknown[] {
  return delivery ? [delivery.id, delivery.token, to] : [null, null, null];
}

/** Only what was settled just now, or before by a commit of the same claim, may have consequences. */
function caused(dialect: Dialect): Sql {
  return sql`(r.cause_id is null or exists (select 1 from ${dialect.table("outbox")} as c
    where c.entry_id = r.cause_id and c.token = r.cause_token and c.status = r.cause_status))`;
}

/** At most one open run per process, and one per trigger, however often it comes. */
function insertRuns(dialect: Dialect, runs: readonly (readonly [NewRun, Settlement])[]): Sql {
  const table = dialect.table("saga_state");
  const rows = runs.map(([run, settlement]) => [
    run.sagaId,
    run.sagaType,
    run.processId,
    run.triggerId,
    run.stepMs ?? null,
    run.deadlineMs ?? null,
    ...causeOf(settlement),
  ]);
  const now = dialect.now();
  const least = sql`case when r.deadline_ms is null then r.step_ms when r.step_ms is null then r.deadline_ms
    when cast(r.step_ms as bigint) < cast(r.deadline_ms as bigint) then r.step_ms else r.deadline_ms end`;
  const after = (ms: Sql): Sql => sql`case when ${ms} is null then null else ${dialect.plusMs(now, sql`(${ms})`)} end`;
  return sql`insert into ${table} (saga_id, saga_type, process_id, run, status, trigger_id, deadline_at, due_at, started_at, updated_at)
    select r.saga_id, r.saga_type, r.process_id,
      (select coalesce(max(o.run), 0) + 1 from ${table} as o where o.saga_type = r.saga_type and o.process_id = r.process_id),
      'running', r.trigger_id, ${after(raw("r.deadline_ms"))}, ${after(least)}, ${now}, ${now}
    from ${dialect.rows(NEW_RUN, rows)} where ${caused(dialect)} and not exists (select 1 from ${table} as o
      where o.saga_type = r.saga_type and o.process_id = r.process_id and o.trigger_id = r.trigger_id)
    on conflict do nothing`;
}

const NEW_ROW: readonly Column[] = [
  { name: "entry_id", type: "uuid" },
  { name: "kind", type: "text" },
  { name: "name", type: "text" },
  { name: "event_id", type: "uuid" },
  { name: "event_version", type: "int" },
  { name: "payload", type: "text" },
  { name: "handler", type: "text" },
  { name: "correlation", type: "text" },
  { name: "causation", type: "uuid" },
  { name: "saga_id", type: "text" },
  { name: "opens", type: "int" },
  { name: "claimed", type: "int" },
  ...CAUSE,
];

const PUBLISHED: readonly Column[] = NEW_ROW.slice(0, 10);
const NEW_NAMES = PUBLISHED.map(({ name }) => name);

function newRow(row: NewRow, isClaimed: boolean, cause: readonly unknown[]): unknown[] {
  const { id, kind, name, eventId, version, payload, handler, correlation, causation, sagaId, opens } = row;
  const more = [handler ?? null, correlation ?? null, causation ?? null, sagaId ?? null];
  return [id, kind, name, eventId, version, payload, ...more, opens ? 1 : 0, isClaimed ? 1 : 0, ...cause];
}

/** Rows that nobody here takes at once and that nothing depends on: a publication is little more than an insert. */
function publishRows(dialect: Dialect, news: readonly NewRow[]): Sql {
  const rows = news.map((row) => newRow(row, false, []).slice(0, NEW_NAMES.length));
  return sql`insert into ${dialect.table("outbox")} (${raw(NEW_NAMES.join(", "))}, enqueued_at)
    select ${raw(NEW_NAMES.map((name) => `r.${name}`).join(", "))}, ${dialect.now()}
    from ${dialect.rows(PUBLISHED, rows)} where true on conflict do nothing`;
}

/**
 * New rows. One that is to begin a run which did not begin is superseded at once. One that this process wants is
 * claimed as it is written, unless something that came before waits for the same handler.
 */
function insertRows(
  dialect: Dialect,
  news: readonly (readonly [NewRow, Settlement])[],
  claims: ReadonlySet<string>,
  leaseMs: number,
): Sql {
  const outbox = dialect.table("outbox");
  const isPlain = news.every(([row, { delivery }]) => !row.opens && !delivery && !claims.has(row.id));
  if (isPlain) return publishRows(dialect, news.map(([row]) => row));
  const rows = news.map(([row, settlement]) => newRow(row, claims.has(row.id), causeOf(settlement)));
  const begun = sql`exists (select 1 from ${dialect.table("saga_state")} as s where s.saga_id = r.saga_id)`;
  const isFirst = sql`(r.correlation is null or not exists (select 1 from ${outbox} as b where b.handler = r.handler
    and b.correlation = r.correlation and b.entry_id < r.entry_id and b.status in (${literals(CLAIMABLE)})))`;
  const first = sql`case when r.opens = 1 and not ${begun} then ${literals([SUPERSEDED])}
    when r.claimed = 1 and ${isFirst} then ${literals([CLAIMED])} else ${literals([WAITING])} end`;
  const isOurs = sql`n.first_status = ${literals([CLAIMED])}`;
  const now = dialect.now();
  return sql`insert into ${outbox} (${raw(NEW_NAMES.join(", "))}, status, attempts, token, enqueued_at, last_attempt_at, next_attempt_at)
    select ${raw(NEW_NAMES.map((name) => `n.${name}`).join(", "))}, n.first_status,
      case when ${isOurs} then 1 else 0 end, case when ${isOurs} then 1 else 0 end, ${now},
      case when ${isOurs} then ${now} end, case when ${isOurs} then ${dialect.plusMs(now, leaseMs)} end
    from (select r.*, ${first} as first_status from ${dialect.rows(NEW_ROW, rows)} where ${caused(dialect)}) as n where true
    on conflict do nothing
    returning entry_id, status, token, ${dialect.epochMs(raw("enqueued_at"))} as enqueued_at`;
}
