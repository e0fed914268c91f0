/**
 * The statements that settle claims, fenced by entry, token and state; and those on requests of data subjects, which are
 * complete when their entries are settled. Rows are locked in the order of their ids, as every statement locks them.
 */
import { OPERATIONS, type OutboxOperation } from "../core/outbox/entry.ts";
import {
  BLOCKING,
  CLAIMABLE,
  outboxMachine,
  settled,
  SUPERSEDED,
  type OutboxStatus,
} from "../core/outbox/machine.ts";
import { holding } from "../storage/claim.ts";
import { bigint, float, optional, text, uuid } from "../storage/column.ts";
import type { Dialect } from "../storage/database.ts";
import { fields } from "../storage/fields.ts";
import { join, literals, raw, sql, type Sql } from "../storage/sql.ts";
import { statementsOf, type Stage } from "../storage/write/stages.ts";
import { projection, type Projection } from "../storage/table.ts";
import { HELD_ROWS, idRows } from "./queries.ts";
import { ENTRY, type HeldEntry } from "./rows.ts";
import type { Settlement } from "./settle.ts";

const SETTLEMENT = fields<Settlement>({
  row_id: uuid((settlement) => settlement.entryId),
  row_token: bigint((settlement) => settlement.token),
  event: text((settlement) => settlement.event, { default: "succeed" }),
  to_status: text((settlement) => settled(settlement.event), { default: settled("succeed") }),
  wait_ms: float((settlement) => settlement.waitMs, { default: null }),
  not_before_ms: float((settlement) => settlement.notBeforeMs, { default: null }),
  error: text((settlement) => settlement.error, { default: null }),
  verification: text((settlement) => settlement.verification, { default: null }),
  ref_value: text((settlement) => settlement.refValue, { default: null }),
});

/** Each token settles an entry once, so id and token together identify the claim. */
export const CLAIM: Projection<HeldEntry> = projection({
  entryId: uuid("entry_id"),
  token: bigint("token"),
});

/** Returns the settled claims; on PostgreSQL a single row, with the stage `ALL_EXPECTED`, if all of them are settled. */
export function settleEntries(dialect: Dialect, settlements: readonly Settlement[]): Sql {
  const stage: Stage = {
    name: "settled",
    statement: settleClaims(dialect, settlements),
    expectRows: settlements.length,
    answer: raw("'settled' as stage, entry_id, token"),
  };
  return statementsOf(dialect, [stage], ["stage", "entry_id", "token"])[0] as Sql;
}

/**
 * Clears the values of a subject's entry after its last call, and the input of a call with the keys that were computed from it; an
 * abandoned call keeps them for a requeue. A
 * verification's mark is set once: a repeat after a lost answer finds it.
 */
function settleClaims(dialect: Dialect, settlements: readonly Settlement[]): Sql {
  const isOpen = sql`r.to_status in (${literals(CLAIMABLE)})`;
  const isKept = sql`(${isOpen} or (r.event = 'abandon' and c.operation is null))`;
  const soonest = dialect.plusMs(dialect.now(), raw("r.wait_ms"));
  const horizon = dialect.instantOf(raw("r.not_before_ms"));
  const gate = sql`case when r.event = 'verify' then c.next_attempt_at when r.wait_ms is null then null
    when ${horizon} > ${soonest} then ${horizon} else ${soonest} end`;
  return sql`update ${dialect.table("outbox")} as c
    set status = r.to_status, next_attempt_at = ${gate},
      attempts = case r.event when 'park' then 0 when 'release' then c.attempts - 1 else c.attempts end,
      horizons = c.horizons + case r.event when 'park' then 1 else 0 end,
      last_error = case when r.event = 'release' then c.last_error else r.error end,
      verification = coalesce(r.verification, c.verification),
      payload = case when ${isKept} then c.payload else null end,
      limits = case when ${isKept} then c.limits else null end,
      concurrency_key = case when ${isKept} then c.concurrency_key else null end,
      lane = case when c.limits is null or ${isKept} then c.lane else c.name end,
      ref_value = coalesce(r.ref_value, c.ref_value),
      slot = case when ${isOpen} or r.event = 'abandon' then c.slot else null end,
      ref_extra = case when r.ref_value is null then c.ref_extra else null end
    from ${dialect.rows(SETTLEMENT, settlements)}
    where ${holding(HELD_ROWS, raw("entry_id"))} and (r.event <> 'verify' or c.verification is null)
    returning entry_id, token`;
}

/** The claims that an earlier commit with a lost answer settled in the same way. */
export function findSettled(dialect: Dialect, settlements: readonly Settlement[]): Sql {
  return sql`select c.entry_id, c.token from ${dialect.rows(SETTLEMENT, settlements)}
    join ${dialect.table("outbox")} as c on c.entry_id = r.row_id and c.token = r.row_token and c.status = r.to_status
    where r.event <> 'verify' or c.verification = r.verification`;
}

/** The request of an entry. */
export interface Request {
  readonly subjectId: string;
  readonly operation: OutboxOperation;
}

/** An entry that a request waits for; calls and events have no request. */
export interface WaitedFor extends HeldEntry {
  readonly subjectId: string | undefined;
  readonly operation: OutboxOperation | undefined;
}

export const WAITED_FOR: Projection<WaitedFor> = projection({
  ...CLAIM.shape,
  subjectId: optional(text("subject_id")),
  operation: optional(text("operation")),
});

/**
 * Locks the entries with these ids, and every entry that one of these requests waits for, in one order. Subjects
 * are looked up one by one in their index, and ids by the key: a plan that was cached on an empty table would scan
 * the open rows instead.
 */
export function lockWaitedFor(dialect: Dialect, requests: readonly Request[], ids: readonly string[]): Sql {
  const table = dialect.table("outbox");
  const waiting = OPERATIONS.flatMap((operation) => {
    const subjects = requests.filter((one) => one.operation === operation).map(({ subjectId }) => subjectId);
    if (subjects.length === 0) return [];
    return [
      sql`select w.entry_id from ${table} as w where w.kind = 'erasure' and w.operation = ${literals([operation])}
        and ${dialect.among(raw("w.subject_id"), [...new Set(subjects)])} and w.status in (${literals(BLOCKING)})`,
    ];
  });
  const all = join([...waiting, sql`select r.row_id from ${idRows(dialect, ids)}`], " union ");
  return sql`with ids(row_id) as materialized (${all})
    select c.entry_id, c.subject_id, c.operation, c.token from ids join ${table} as c on c.entry_id = ids.row_id
    where c.status || '' in (${literals(BLOCKING)}) and coalesce(c.verification, '') <> 'pending'
    order by c.entry_id ${dialect.forUpdateOf("c")}`;
}

/** The entries that a request waits for, locked. */
export function lockBlocking(dialect: Dialect, { subjectId, operation }: Request): Sql {
  return sql`select c.entry_id from ${ENTRY.of(dialect)} as c
    where c.kind = 'erasure' and c.subject_id = ${subjectId} and c.operation = ${operation} and ${isBlocking("c")}
    order by c.entry_id ${dialect.forUpdateOf("c")}`;
}

/** A request does not wait for an entry that succeeded and only awaits its optional verification. */
function isBlocking(alias: string): Sql {
  const of = raw(alias);
  return sql`${of}.status in (${literals(BLOCKING)}) and coalesce(${of}.verification, '') <> 'pending'`;
}

const SUPERSEDABLE = outboxMachine.sources("supersede");

/** The rectifications of these subjects that can be superseded, locked. */
export function lockRectifications(dialect: Dialect, subjects: readonly string[]): Sql {
  return sql`select ${ENTRY.columns(dialect, "c")} from ${ENTRY.of(dialect)} as c
    where c.kind = 'erasure' and ${dialect.among(raw("c.subject_id"), subjects)} and c.operation = 'rectify'
      and c.status in (${literals(SUPERSEDABLE)})
    order by c.entry_id ${dialect.forUpdateOf("c")}`;
}

/** Every open entry of the requests that these entries belong to, locked in the common order. */
export function lockRequestsOf(dialect: Dialect, ids: readonly string[]): Sql {
  return sql`with request as materialized (
      select distinct g.subject_id, g.operation from ${idRows(dialect, ids)}
      join ${ENTRY.of(dialect)} as g on g.entry_id = r.row_id where g.kind = 'erasure')
    select ${ENTRY.columns(dialect, "c")} from request join ${ENTRY.of(dialect)} as c
      on c.subject_id = request.subject_id and c.operation = request.operation
    where c.kind = 'erasure' and c.status in (${literals(BLOCKING)})
    order by c.entry_id ${dialect.forUpdateOf("c")}`;
}

const RESOLVED = outboxMachine.target("abandoned", "resolve") as OutboxStatus;

/** An operator confirms the entry by hand. No call needs the ref or the payload any more, so both are cleared. */
export function resolveEntries(dialect: Dialect, ids: readonly string[], refValue: string): Sql {
  return sql`update ${ENTRY.of(dialect)} as c
    set status = ${literals([RESOLVED])}, next_attempt_at = null, last_error = null, payload = null,
      ref_value = ${refValue}, ref_extra = null, slot = null
    from ${idRows(dialect, ids)} where c.entry_id = r.row_id and c.kind = 'erasure'
      and c.status || '' in (${literals(outboxMachine.sources("resolve"))})
    returning ${ENTRY.columns(dialect)}`;
}

/** No call needs these refs any more: `refValue` replaces them. */
export function supersedeEntries(dialect: Dialect, ids: readonly string[], refValue: string): Sql {
  return sql`update ${ENTRY.of(dialect)} as c
    set status = ${literals([SUPERSEDED])}, payload = null, next_attempt_at = null, last_error = null,
      ref_value = ${refValue}, ref_extra = null, slot = null
    from ${idRows(dialect, ids)} where c.entry_id = r.row_id and c.status || '' in (${literals(SUPERSEDABLE)})`;
}

/** The open entries of these subjects' erasures, oldest first. */
export function listBlocking(dialect: Dialect, subjectIds: readonly string[]): Sql {
  return sql`select ${ENTRY.columns(dialect, "c")} from ${ENTRY.of(dialect)} as c
    where c.kind = 'erasure' and c.operation = 'erase' and ${isBlocking("c")}
      and ${dialect.among(raw("c.subject_id"), subjectIds)}
    order by c.enqueued_at, c.entry_id`;
}

/** A query: `subject_id` and `since` of every open erasure entry from this instant or earlier. */
export function erasuresWaitingSince(dialect: Dialect, latest: Sql): Sql {
  return sql`select c.subject_id, c.enqueued_at as since from ${ENTRY.of(dialect)} as c
    where c.kind = 'erasure' and c.operation = 'erase' and c.subject_id is not null
      and ${isBlocking("c")} and c.enqueued_at <= ${latest}`;
}

/** A condition: the subject has an open entry. */
export function hasOpenEntry(dialect: Dialect, subjectId: Sql): Sql {
  return sql`exists (select 1 from ${ENTRY.of(dialect)} as c
    where c.kind = 'erasure' and c.subject_id = ${subjectId} and c.status in (${literals(BLOCKING)}))`;
}
