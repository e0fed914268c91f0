/** The stages that send out what outcomes bring on: the runs that begin, and one row for whoever gets an event. */
import { FIRST_CLAIM } from "../../core/claim-token.ts";
import { CLAIMABLE, settled, SUPERSEDED } from "../../core/outbox/machine.ts";
import type { UniqueKey, WriteMode } from "../../storage/checked-write.ts";
import type { Column, Dialect } from "../../storage/database.ts";
import type { Stage } from "../../storage/stages.ts";
import { literals, raw, sql, type Sql } from "../../storage/sql.ts";
import { CLAIMED, type Numbered } from "./outcome-queries.ts";
import type { Fanout, NewRow } from "../run/delivery.ts";

/** What an outcome brings on. */
export interface Brought<What extends keyof Fanout> {
  readonly made: Fanout[What][number];
  readonly by: Numbered;
}

/** By the outcome's number; where stages cannot see each other, by the mark that it left. */
const NUMBERED: readonly Column[] = [{ name: "cause", type: "int" }];
const MARKED: readonly Column[] = [
  { name: "cause_id", type: "uuid" },
  { name: "cause_token", type: "bigint" },
  { name: "cause_status", type: "text" },
];

function causeOf(dialect: Dialect, isLinked: boolean, by: Numbered): readonly unknown[] {
  if (!isLinked) return [];
  const { delivery, to } = by.settlement;
  return dialect.pick<readonly unknown[]>({
    postgres: [delivery && by.n],
    sqlite: [delivery?.id, delivery?.token, delivery && to],
  });
}

/** Only what was settled just now, or before by a commit of the same claim, may have consequences. */
function caused(dialect: Dialect, isLinked: boolean): Sql {
  if (!isLinked) return raw("true");
  const byTable = sql`(r.cause_id is null or exists (select 1 from ${dialect.table("outbox")} as c
    where c.entry_id = r.cause_id and c.token = r.cause_token and c.status = r.cause_status))`;
  // Beside an "or" this is looked up in a hash, not in a loop over all of them.
  return dialect.pick({
    postgres: raw("(r.cause is null or r.cause in (select n from marked))"),
    sqlite: byTable,
  });
}

const NEW_RUN: readonly Column[] = [
  { name: "saga_id", type: "text" },
  { name: "saga_type", type: "text" },
  { name: "process_id", type: "text" },
  { name: "trigger_id", type: "uuid" },
  { name: "trail", type: "text" },
  { name: "step_ms", type: "text" },
  { name: "deadline_ms", type: "text" },
];
const RUN_BY_NUMBER = [...NEW_RUN, ...NUMBERED];
const RUN_BY_MARK = [...NEW_RUN, ...MARKED];

/** At most one open run per process, and one per trigger, however often it comes. */
export function insertRuns(dialect: Dialect, runs: readonly Brought<"runs">[], isLinked: boolean): Sql {
  const table = dialect.table("saga_state");
  const rows = runs.map(({ made: run, by }) => [
    run.sagaId,
    run.sagaType,
    run.processId,
    run.triggerId,
    run.entryId,
    run.stepMs,
    run.deadlineMs,
    ...causeOf(dialect, isLinked, by),
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
    from ${dialect.rows(isLinked ? dialect.pick({ postgres: RUN_BY_NUMBER, sqlite: RUN_BY_MARK }) : NEW_RUN, rows)} where ${caused(dialect, isLinked)} and not exists (select 1 from ${table} as o
      where o.saga_type = r.saga_type and o.process_id = r.process_id and o.trigger_id = r.trigger_id)
    on conflict do nothing returning saga_id`;
}

/** Those that are in the table by the same name. */
const PUBLISHED: readonly Column[] = [
  { name: "entry_id", type: "uuid" },
  { name: "name", type: "text" },
  { name: "event_id", type: "uuid" },
  { name: "payload", type: "text" },
  { name: "handler", type: "text" },
  { name: "correlation", type: "text" },
  { name: "causation", type: "uuid" },
  { name: "saga_id", type: "text" },
  { name: "event_version", type: "int", default: 1 },
  { name: "traceparent", type: "text", default: null },
];
const NEW_ROW: readonly Column[] = [
  ...PUBLISHED,
  { name: "claimed", type: "int" },
  { name: "opens", type: "int", default: 0 },
  // The cause, where the same handler gets what it brings on: it is not in the way of that.
  { name: "own_id", type: "uuid", default: null },
];
const ROW_BY_NUMBER = [...NEW_ROW, ...NUMBERED];
const ROW_BY_MARK = [...NEW_ROW, ...MARKED];

const NAMES = PUBLISHED.map(({ name }) => name);
const WAITING = settled("release");

function publishedRow({ made, by }: Brought<"rows">): unknown[] {
  return [
    made.id,
    made.name,
    made.eventId,
    made.payload,
    made.handler,
    made.correlation,
    made.causation,
    made.sagaId,
    made.version,
    by.settlement.trace,
  ];
}

/** An event on its way to a handler, or one for which there is none here. */
function kindOf(alias: string): Sql {
  return raw(`case when ${alias}.handler is null then 'event' else 'delivery' end`);
}

function namesOf(alias: string): Sql {
  return raw(NAMES.map((name) => `${alias}.${name}`).join(", "));
}

/** Rows that nobody here takes at once and that nothing depends on: a publication is little more than an insert. */
function publishRows(dialect: Dialect, news: readonly Brought<"rows">[], twice: Sql): Sql {
  return sql`insert into ${dialect.table("outbox")} (${raw(NAMES.join(", "))}, kind, enqueued_at)
    select ${namesOf("r")}, ${kindOf("r")}, ${dialect.now()}
    from ${dialect.rows(PUBLISHED, news.map(publishedRow))} where true${twice}`;
}

/** A row that exists already stays as it is. The optimistic form does not expect one: the key refuses it. */
const EXISTS_ALREADY: Readonly<Record<WriteMode, Sql>> = {
  checked: raw(" on conflict do nothing"),
  optimistic: raw(""),
};

export const NEW_ROW_KEY: UniqueKey = { table: "outbox", constraint: "outbox_pkey", columns: ["entry_id"] };

/** More than can be: with a limit, planners do not compute it again for each place where it stands. */
const NO_LIMIT = raw("limit 1000000000");

/**
 * New rows. One that is to begin a run which did not begin is superseded at once. One that this process wants is
 * claimed as it is written, unless something that came before waits for the same handler.
 */
export function insertRows(
  dialect: Dialect,
  news: readonly Brought<"rows">[],
  claims: ReadonlySet<NewRow>,
  leaseMs: number,
  known: { readonly held: boolean; readonly runs: boolean },
  mode: WriteMode,
): Omit<Stage, "name"> {
  const outbox = dialect.table("outbox");
  const isPlain = news.every(({ made, by }) => !made.opens && !by.settlement.delivery && !claims.has(made));
  const twice = EXISTS_ALREADY[mode];
  if (isPlain) return { statement: publishRows(dialect, news, twice) };
  const rows = news.map((one) => {
    const { made, by } = one;
    const row = publishedRow(one);
    const { delivery } = by.settlement;
    const isOwn = delivery !== undefined && delivery.handler === made.handler;
    row.push(claims.has(made) ? 1 : 0, made.opens ? 1 : 0, isOwn ? delivery.id : null);
    row.push(...causeOf(dialect, known.held, by));
    return row;
  });
  const byTable = sql`exists (select 1 from ${dialect.table("saga_state")} as s where s.saga_id = r.saga_id)`;
  const byName = raw(known.runs ? "r.saga_id in (select saga_id from begun)" : "false");
  const isFirst = sql`(r.correlation is null or not exists (select 1 from ${outbox} as b where b.handler = r.handler
    and b.correlation = r.correlation and b.entry_id < r.entry_id and b.status in (${literals(CLAIMABLE)})
    and (r.own_id is null or b.entry_id <> r.own_id)))`;
  const first = sql`case when r.opens = 1 and not ${dialect.pick({ postgres: byName, sqlite: byTable })} then ${literals([SUPERSEDED])}
    when r.claimed = 1 and ${isFirst} then ${literals([CLAIMED])} else ${literals([WAITING])} end`;
  const isOurs = sql`n.first_status = ${literals([CLAIMED])}`;
  const now = dialect.now();
  const given = dialect.rows(
    known.held ? dialect.pick({ postgres: ROW_BY_NUMBER, sqlite: ROW_BY_MARK }) : NEW_ROW,
    rows,
  );
  const answer = sql`'news' as stage, cast(entry_id as text) as id, status, token, ${dialect.epochMs(raw("enqueued_at"))} as at`;
  const statement = sql`insert into ${outbox} (${raw(NAMES.join(", "))}, kind, status, attempts, token, enqueued_at, last_attempt_at, next_attempt_at)
    select ${namesOf("n")}, ${kindOf("n")}, n.first_status,
      case when ${isOurs} then 1 else 0 end, case when ${isOurs} then ${raw(String(FIRST_CLAIM))} else 0 end, ${now},
      case when ${isOurs} then ${now} end, case when ${isOurs} then ${dialect.plusMs(now, leaseMs)} end
    from (select r.*, ${first} as first_status from ${given} where ${caused(dialect, known.held)} ${NO_LIMIT}) as n
    where true${twice} returning ${dialect.pick({ postgres: raw("entry_id, status, token, enqueued_at"), sqlite: answer })}`;
  return { statement, expectRows: claims.size, counted: sql`status = ${literals([CLAIMED])}`, answer };
}
