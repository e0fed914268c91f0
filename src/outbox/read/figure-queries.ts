/** Figures about the outbox. Each query reads a bounded number of rows along an index. */
import { OUTBOX_KINDS, type OutboxKind } from "../../core/outbox/entry.ts";
import { BLOCKING, CLAIMABLE } from "../../core/outbox/machine.ts";
import { freshFirst, gate, triedLast } from "../../storage/claim.ts";
import type { Dialect } from "../../storage/database.ts";
import { lanesInUse } from "../../storage/lanes.ts";
import { behindKind, kindOfLanes } from "../../storage/limits/lane.ts";
import { empty, join, literals, raw, sql, type Sql } from "../../storage/sql.ts";
import { nextDueIn } from "../../storage/read/next-due.ts";
import { claimPlace, isPausedCall } from "../queries.ts";
import { LOWEST_ID } from "./list-queries.ts";

/** Unrouted events are left out: without a handler, no worker is late with them. */
const CLAIMED_KINDS = OUTBOX_KINDS.filter((kind) => kind !== "event");

/** Open entries by state, counted up to `max`. Final states are not counted: their numbers only grow. */
export function countStates(dialect: Dialect, max: number): Sql {
  const table = dialect.table("outbox");
  const inKinds = sql`c.kind in (${literals(OUTBOX_KINDS)})`;
  // The indexes of due entries hold exactly the claimable states; the rows are grouped by state afterwards.
  const walks = CLAIMED_KINDS.map(
    (kind) =>
      sql`select * from (select c.status from ${table} as c where ${isOpen(kind, "c")} limit ${max + 1}) as walk`,
  );
  const due = sql`(${join(walks, " union all ")})`;
  const counts = BLOCKING.map((status) =>
    CLAIMABLE.includes(status)
      ? sql`(select count(*) from due where due.status = ${literals([status])}) as ${raw(status)}`
      : sql`(select count(*) from (select 1 from ${table} as c where ${inKinds} and c.status = ${literals([status])} limit ${max + 1}) as counted) as ${raw(status)}`,
  );
  return sql`with due as materialized ${due} select ${join(counts, ", ")}`;
}

/** Open entries of a kind, as the index of that kind has them. */
function isOpen(kind: OutboxKind, alias: string): Sql {
  const ofKind = sql`${raw(alias)}.kind = ${literals([kind])} and ${raw(alias)}.status in (${literals(CLAIMABLE)})`;
  // Every entry has a class: the condition makes both databases search the index that begins with it.
  const inIndex = kind === "erasure" ? `${triedLast(`${alias}.`)} >= 0` : `${alias}.lane <> ''`;
  return sql`${ofKind} and ${raw(inIndex)}`;
}

/** The number of due entries that are checked for an earlier delivery. */
const LOOK_MAX = 50;

/**
 * The due time of the oldest due entry, or null. A delivery that waits for an earlier one of the same process and
 * handler is not due.
 */
export function oldestDue(dialect: Dialect, kinds: readonly OutboxKind[]): Sql {
  const walks = kinds.flatMap((kind) =>
    kind === "erasure"
      ? dueErasures(dialect)
      : dueEntries(dialect, kind, kind === "delivery" ? isNext(dialect) : raw("true")),
  );
  const each = walks.map((walk) => sql`select * from (${walk}) as walk`);
  return sql`(select min(u.since) from (${join(each, " union all ")}) as u)`;
}

/**
 * In each lane, fresh entries and retries have their own range of the index. Calls that limits by key may hold back are not among
 * them: they do not wait for a worker.
 */
function dueEntries(dialect: Dialect, kind: OutboxKind, fits: Sql): readonly Sql[] {
  const dueAt = gate(dialect, raw("c.next_attempt_at"));
  const table = dialect.table("outbox");
  const lane = raw("lanes.lane");
  const where = isOpen(kind, "x");
  const lanes =
    kind === "call"
      ? { table, column: "lane", where, next: (last: Sql) => behindKind(kindOfLanes(dialect, last)) }
      : { table, column: "lane", where };
  const own = kind === "call" ? kindOfLanes(dialect, lane) : lane;
  // What is paused does not wait for a worker.
  const isPaused = kind === "call" ? sql`and not ${isPausedCall(dialect)(own)}` : empty;
  return ["0", "1"].map(
    (rank) => sql`with recursive ${lanesInUse(lanes)}
      select (select min(d.since) from (
        select c.entry_id, c.handler, c.correlation, coalesce(c.next_attempt_at, c.enqueued_at) as since
        from ${table} as c
        where ${isOpen(kind, "c")} and c.lane = ${own} and ${raw(freshFirst("c.attempts"))} = ${raw(rank)}
          and ${dueAt} <= ${dialect.now()}
        order by ${dueAt}, c.entry_id limit ${LOOK_MAX}) as d where ${fits}) as since
      from lanes where lanes.lane is not null ${isPaused}`,
  );
}

/** Untried requests and the others have their own range of their index, each in the order of its claim. */
function dueErasures(dialect: Dialect): readonly Sql[] {
  const place = claimPlace(dialect, "c.");
  const dueAt = gate(dialect, raw("c.next_attempt_at"));
  return ["0", "1"].map(
    (rank) => sql`select min(d.since) as since from (
        select coalesce(c.next_attempt_at, c.enqueued_at) as since from ${dialect.table("outbox")} as c
        where ${isOpen("erasure", "c")} and ${raw(triedLast("c."))} = ${raw(rank)}
          and ${place} <= ${dialect.now()} and ${dueAt} <= ${dialect.now()}
        order by ${place}, ${dueAt}, c.entry_id limit ${LOOK_MAX}) as d`,
  );
}

function isNext(dialect: Dialect): Sql {
  return sql`(d.correlation is null or not exists (select 1 from ${dialect.table("outbox")} as b
    where b.handler = d.handler and b.correlation = d.correlation and b.entry_id < d.entry_id
      and b.status in (${literals(CLAIMABLE)})))`;
}

/** The number of open entries whose progress is checked; the newest entry is always checked. */
const PROGRESS_MAX = 100;

/** A text that changes whenever the outbox changes. */
export function changeSign(dialect: Dialect): Sql {
  const table = dialect.table("outbox");
  // The lower bound lets each database read only the end of the index.
  const newest = sql`(select n.entry_id from ${table} as n where n.entry_id > ${literals([LOWEST_ID])} order by n.entry_id desc limit 1)`;
  const due = CLAIMED_KINDS.map(
    (kind) => sql`select * from (select c.token, c.attempts from ${table} as c
      where ${isOpen(kind, "c")} limit ${PROGRESS_MAX}) as walk`,
  );
  const progress = sql`(select count(*) || ' ' || coalesce(sum(counted.token + counted.attempts), 0) from (${join(due, " union all ")}) as counted)`;
  return sql`coalesce(cast(${newest} as text), '') || ' ' || coalesce(cast(${progress} as text), '')`;
}

/** When the next entry of any kind becomes due: a wait ends, or the lease of a worker. */
export function nextEntryDue(dialect: Dialect): Sql {
  const ofAnyKind = sql`c.status in (${literals(CLAIMABLE)})`;
  return nextDueIn(dialect, dialect.table("outbox"), "next_attempt_at", ofAnyKind);
}
