/** The statements on the outbox: claims, renewals, inserts, lists. What books an outcome is in settle.ts. */
import type { OutboxKind } from "../core/outbox/entry.ts";
import { BLOCKING, CLAIMABLE, HELD, outboxMachine, type OutboxStatus } from "../core/outbox/machine.ts";
import { claimStatement, renewStatement, type Claimable } from "../storage/claim.ts";
import type { Column, Dialect } from "../storage/database.ts";
import { FRESH_FIRST } from "../storage/migrations/0002-outbox.ts";
import { empty, literals, raw, sql, type Sql } from "../storage/sql.ts";
import { entryColumns } from "./rows.ts";

const rowClass = FRESH_FIRST("due.attempts");

/** Fresh entries first: a crowd of failing ones waits behind them. Within a class the oldest comes first. */
export const OUTBOX: Claimable = {
  table: "outbox",
  id: "entry_id",
  idType: "uuid",
  states: CLAIMABLE,
  classes: [raw(`${rowClass} = 0`), raw(`${rowClass} = 1`)],
};

/** Rows that somebody holds: the fence of every settle and renewal. */
export const HELD_ROWS: Claimable = { ...OUTBOX, states: HELD };

/** The claim is the attempt: one that kills its worker every time is counted all the same. */
export function claimEntries(
  dialect: Dialect,
  kind: OutboxKind,
  names: readonly string[] | undefined,
  limit: number,
  leaseMs: number,
  except: readonly string[] = [],
): Sql {
  const ofKind = sql`due.kind = ${literals([kind])}`;
  return claimStatement(dialect, OUTBOX, {
    limit,
    leaseMs,
    except,
    where: names ? sql`${ofKind} and ${dialect.among(raw("due.name"), names)}` : ofKind,
    set: sql`status = ${literals([CLAIMED])}, attempts = c.attempts + 1`,
    returning: entryColumns(dialect),
  });
}

const CLAIMED = outboxMachine.target("pending", "claim") as OutboxStatus;

export interface HeldEntry {
  readonly entryId: string;
  readonly token: number;
}

export function renewEntries(dialect: Dialect, held: readonly HeldEntry[], leaseMs: number): Sql {
  const rows = held.map(({ entryId, token }) => [entryId, token] as const);
  return renewStatement(dialect, HELD_ROWS, rows, leaseMs, raw("entry_id"));
}

/** What stands in `last_error` of an entry whose last try is known to run although its time is over. */
export const NOT_RETURNED = "NotReturned";

export function noteRunning(dialect: Dialect, entryId: string, token: number): Sql {
  return sql`update ${dialect.table("outbox")} set last_error = ${NOT_RETURNED}
    where entry_id = ${entryId} and token = ${token} and status in (${literals(HELD)})`;
}

const ENTRY: readonly Column[] = [
  { name: "entry_id", type: "uuid" },
  { name: "kind", type: "text" },
  { name: "name", type: "text" },
  { name: "subject_id", type: "text" },
  { name: "operation", type: "text" },
  { name: "ref_kind", type: "text" },
  { name: "ref_value", type: "text" },
  { name: "ref_extra", type: "text" },
  { name: "slot", type: "text" },
  { name: "payload", type: "text" },
  { name: "generation", type: "int" },
  { name: "gate_ms", type: "text" },
];

export type EntryRow = readonly (string | number | null)[];

const ENTRY_NAMES = ENTRY.slice(0, -1).map(({ name }) => name);

/**
 * `gate_ms` is an instant before which nobody may claim the entry, or null. An entry whose slot is taken by one that
 * the caller could not see yet is left out.
 */
export function insertEntries(
  dialect: Dialect,
  rows: readonly EntryRow[],
  traceparent: string | undefined,
): Sql {
  return sql`insert into ${dialect.table("outbox")} (${raw(ENTRY_NAMES.join(", "))}, next_attempt_at, enqueued_at, traceparent)
    select ${raw(ENTRY_NAMES.map((name) => `r.${name}`).join(", "))}, ${dialect.instantOf(raw("r.gate_ms"))}, ${dialect.now()},
      cast(${traceparent ?? null} as text)
    from ${dialect.rows(ENTRY, rows)} where true on conflict do nothing returning entry_id`;
}

const IDS: readonly Column[] = [{ name: "row_id", type: "uuid" }];

/** The rows of these ids, locked in the order in which everybody locks them. */
export function lockEntries(dialect: Dialect, kind: OutboxKind, ids: readonly string[]): Sql {
  return sql`${findEntries(dialect, kind, ids)} ${dialect.forUpdateOf("c")}`;
}

export function findEntries(dialect: Dialect, kind: OutboxKind, ids: readonly string[]): Sql {
  return sql`select ${entryColumns(dialect, "c")} from ${idRows(dialect, ids)}
    join ${dialect.table("outbox")} as c on c.entry_id = r.row_id
    where c.kind = ${literals([kind])} order by c.entry_id`;
}

/** Of these ids, those that exist, whatever their kind. */
export function knownIds(dialect: Dialect, ids: readonly string[]): Sql {
  return sql`select c.entry_id from ${idRows(dialect, ids)} join ${dialect.table("outbox")} as c on c.entry_id = r.row_id`;
}

export function idRows(dialect: Dialect, ids: readonly string[]): Sql {
  return dialect.rows(
    IDS,
    ids.map((id) => [id]),
  );
}

export function requeueEntries(dialect: Dialect, ids: readonly string[]): Sql {
  return sql`update ${dialect.table("outbox")} as c
    set status = ${literals([REQUEUED])}, attempts = 0, next_attempt_at = null, last_error = null,
      verification = null, requeues = c.requeues + 1
    from ${idRows(dialect, ids)} where c.entry_id = r.row_id and c.status || '' in (${literals(outboxMachine.sources("requeue"))})
    returning ${entryColumns(dialect)}`;
}

const REQUEUED = outboxMachine.target("abandoned", "requeue") as OutboxStatus;

/** Every open entry of the requests that these entries belong to, locked in the order in which everybody locks them. */
export function lockRequestsOf(dialect: Dialect, ids: readonly string[]): Sql {
  const table = dialect.table("outbox");
  return sql`with request as materialized (
      select distinct g.subject_id, g.operation from ${idRows(dialect, ids)}
      join ${table} as g on g.entry_id = r.row_id where g.kind = 'erasure')
    select ${entryColumns(dialect, "c")} from request join ${table} as c
      on c.subject_id = request.subject_id and c.operation = request.operation
    where c.kind = 'erasure' and c.status in (${literals(BLOCKING)})
    order by c.entry_id ${dialect.forUpdateOf("c")}`;
}

/** A person confirms what the call was for. No call needs the ref or the payload any more, so both are cleared. */
export function resolveEntries(dialect: Dialect, ids: readonly string[], scrubbed: string): Sql {
  return sql`update ${dialect.table("outbox")} as c
    set status = ${literals([RESOLVED])}, next_attempt_at = null, last_error = null, payload = null,
      ref_value = ${scrubbed}, ref_extra = null, slot = null
    from ${idRows(dialect, ids)} where c.entry_id = r.row_id and c.kind = 'erasure'
      and c.status || '' in (${literals(outboxMachine.sources("resolve"))})
    returning ${entryColumns(dialect)}`;
}

const RESOLVED = outboxMachine.target("abandoned", "resolve") as OutboxStatus;

export interface ListOptions {
  readonly kind: OutboxKind;
  readonly limit: number;
  /** The instant and id of the last one of the page before. */
  readonly after: readonly [atMs: number, entryId: string] | undefined;
}

/** By the instant at which they were enqueued, oldest first. */
export function listAbandonedEntries(dialect: Dialect, options: ListOptions): Sql {
  return listEntries(dialect, "abandoned", "enqueued_at", options);
}

/** By their horizon, nearest first. */
export function listScheduledEntries(dialect: Dialect, options: ListOptions): Sql {
  return listEntries(dialect, "scheduled", "next_attempt_at", options);
}

function listEntries(dialect: Dialect, status: OutboxStatus, by: string, options: ListOptions): Sql {
  const { kind, limit, after } = options;
  const at = dialect.epochMs(raw(`c.${by}`));
  const page = after
    ? sql`and (${at} > ${after[0]} or (${at} = ${after[0]} and c.entry_id > ${after[1]}))`
    : empty;
  return sql`select ${entryColumns(dialect, "c")} from ${dialect.table("outbox")} as c
    where c.status = ${literals([status])} and c.kind = ${literals([kind])} ${page}
    order by c.${raw(by)}, c.entry_id limit ${limit}`;
}

export function countStatuses(dialect: Dialect, kind: OutboxKind): Sql {
  return sql`select status, count(*) as entries from ${dialect.table("outbox")}
    where kind = ${literals([kind])} group by status`;
}
