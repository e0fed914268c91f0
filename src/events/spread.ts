/** The stages that send out what an outcome brings on: the runs that begin, and one row for whoever gets an event. */
import { CLAIMABLE, settled } from "../core/outbox/machine.ts";
import type { Column, Dialect, Stage } from "../storage/database.ts";
import { literals, raw, sql, type Sql } from "../storage/sql.ts";
import { claimName, CLAIMED, SUPERSEDED } from "./book.ts";
import type { NewRow, NewRun, Settlement } from "./delivery.ts";

const CAUSE: readonly Column[] = [
  { name: "cause_id", type: "uuid" },
  { name: "cause_token", type: "int" },
  { name: "cause_status", type: "text" },
];

function causeOf({ delivery, to }: Settlement): unknown[] {
  return delivery ? [delivery.id, delivery.token, to] : [null, null, null];
}

/** Only what was settled just now, or before by a commit of the same claim, may have consequences. */
function caused(dialect: Dialect, isLinked: boolean): Sql {
  if (!isLinked) return raw("true");
  const byTable = sql`exists (select 1 from ${dialect.table("outbox")} as c
    where c.entry_id = r.cause_id and c.token = r.cause_token and c.status = r.cause_status)`;
  // Beside an "or" this is looked up in a hash, not in a loop over all of them.
  const byName = sql`${claimName("r.cause_id", "r.cause_token")} in (select ${claimName("id", "token")} from marked)`;
  return sql`(r.cause_id is null or ${dialect.linked(byName, byTable)})`;
}

const NEW_RUN: readonly Column[] = [
  { name: "saga_id", type: "text" },
  { name: "saga_type", type: "text" },
  { name: "process_id", type: "text" },
  { name: "trigger_id", type: "uuid" },
  { name: "trail", type: "text" },
  { name: "step_ms", type: "text" },
  { name: "deadline_ms", type: "text" },
  ...CAUSE,
];

/** At most one open run per process, and one per trigger, however often it comes. */
export function insertRuns(
  dialect: Dialect,
  runs: readonly (readonly [NewRun, Settlement])[],
  isLinked: boolean,
): Sql {
  const table = dialect.table("saga_state");
  const rows = runs.map(([run, settlement]) => [
    run.sagaId,
    run.sagaType,
    run.processId,
    run.triggerId,
    run.entryId,
    run.stepMs ?? null,
    run.deadlineMs ?? null,
    ...causeOf(settlement),
  ]);
  const now = dialect.now();
  const least = sql`case when r.deadline_ms is null then r.step_ms when r.step_ms is null then r.deadline_ms
    when cast(r.step_ms as bigint) < cast(r.deadline_ms as bigint) then r.step_ms else r.deadline_ms end`;
  const after = (ms: Sql): Sql =>
    sql`case when ${ms} is null then null else ${dialect.plusMs(now, sql`(${ms})`)} end`;
  return sql`insert into ${table} (saga_id, saga_type, process_id, run, status, trigger_id, trail, deadline_at, due_at, started_at, updated_at)
    select r.saga_id, r.saga_type, r.process_id,
      (select coalesce(max(o.run), 0) + 1 from ${table} as o where o.saga_type = r.saga_type and o.process_id = r.process_id),
      'running', r.trigger_id, r.trail, ${after(raw("r.deadline_ms"))}, ${after(least)}, ${now}, ${now}
    from ${dialect.rows(NEW_RUN, rows)} where ${caused(dialect, isLinked)} and not exists (select 1 from ${table} as o
      where o.saga_type = r.saga_type and o.process_id = r.process_id and o.trigger_id = r.trigger_id)
    on conflict do nothing returning saga_id`;
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
  { name: "traceparent", type: "text" },
  { name: "opens", type: "int" },
  { name: "claimed", type: "int" },
  ...CAUSE,
];

const PUBLISHED: readonly Column[] = NEW_ROW.slice(0, 11);
const NAMES = PUBLISHED.map(({ name }) => name);
const WAITING = settled("release");

function publishedRow([row, { trace }]: readonly [NewRow, Settlement]): unknown[] {
  const { id, kind, name, eventId, version, payload, handler, correlation, causation, sagaId } = row;
  const more = [handler ?? null, correlation ?? null, causation ?? null, sagaId ?? null, trace ?? null];
  return [id, kind, name, eventId, version, payload, ...more];
}

/** Rows that nobody here takes at once and that nothing depends on: a publication is little more than an insert. */
function publishRows(dialect: Dialect, news: readonly (readonly [NewRow, Settlement])[]): Sql {
  return sql`insert into ${dialect.table("outbox")} (${raw(NAMES.join(", "))}, enqueued_at)
    select ${raw(NAMES.map((name) => `r.${name}`).join(", "))}, ${dialect.now()}
    from ${dialect.rows(PUBLISHED, news.map(publishedRow))} where true on conflict do nothing`;
}

/**
 * New rows. One that is to begin a run which did not begin is superseded at once. One that this process wants is
 * claimed as it is written, unless something that came before waits for the same handler.
 */
export function insertRows(
  dialect: Dialect,
  news: readonly (readonly [NewRow, Settlement])[],
  claims: ReadonlySet<string>,
  leaseMs: number,
  known: { readonly held: boolean; readonly runs: boolean },
): Pick<Stage, "statement" | "answers"> {
  const outbox = dialect.table("outbox");
  const isPlain = news.every(([row, { delivery }]) => !row.opens && !delivery && !claims.has(row.id));
  if (isPlain) return { statement: publishRows(dialect, news) };
  const rows = news.map(([row, settlement]) => [
    ...publishedRow([row, settlement]),
    row.opens ? 1 : 0,
    claims.has(row.id) ? 1 : 0,
    ...causeOf(settlement),
  ]);
  const byTable = sql`exists (select 1 from ${dialect.table("saga_state")} as s where s.saga_id = r.saga_id)`;
  const byName = known.runs ? raw("r.saga_id in (select saga_id from begun)") : raw("false");
  const isFirst = sql`(r.correlation is null or not exists (select 1 from ${outbox} as b where b.handler = r.handler
    and b.correlation = r.correlation and b.entry_id < r.entry_id and b.status in (${literals(CLAIMABLE)})
    and (r.cause_id is null or b.entry_id <> r.cause_id)))`;
  const first = sql`case when r.opens = 1 and not ${dialect.linked(byName, byTable)} then ${literals([SUPERSEDED])}
    when r.claimed = 1 and ${isFirst} then ${literals([CLAIMED])} else ${literals([WAITING])} end`;
  const isOurs = sql`n.first_status = ${literals([CLAIMED])}`;
  const now = dialect.now();
  const statement = sql`insert into ${outbox} (${raw(NAMES.join(", "))}, status, attempts, token, enqueued_at, last_attempt_at, next_attempt_at)
    with n as materialized (
      select r.*, ${first} as first_status from ${dialect.rows(NEW_ROW, rows)} where ${caused(dialect, known.held)})
    select ${raw(NAMES.map((name) => `n.${name}`).join(", "))}, n.first_status,
      case when ${isOurs} then 1 else 0 end, case when ${isOurs} then 1 else 0 end, ${now},
      case when ${isOurs} then ${now} end, case when ${isOurs} then ${dialect.plusMs(now, leaseMs)} end
    from n where true on conflict do nothing
    returning 'news' as stage, cast(entry_id as text) as id, status, token, ${dialect.epochMs(raw("enqueued_at"))} as at`;
  return { statement, answers: true };
}
