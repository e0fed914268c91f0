/**
 * The statements on the outbox: claims, renewals, inserts, lists. The settle statements are in settle-queries.ts.
 */
import type { OutboxKind, OutboxOperation } from "../core/outbox/entry.ts";
import { CLAIMABLE, HELD, outboxMachine, type OutboxStatus } from "../core/outbox/machine.ts";
import type { Grant } from "../core/start/grants.ts";
import {
  claimStatement,
  freshFirst,
  gate,
  isUntried,
  renewStatement,
  triedLast,
  type Claimable,
} from "../storage/claim.ts";
import { float, int, text, uuid } from "../storage/column.ts";
import type { Dialect, Row } from "../storage/database.ts";
import { fields } from "../storage/fields.ts";
import { laneOf, laneWithoutRate } from "../storage/limits/lane.ts";
import { hasPlace, type LimitedTable } from "../storage/limits/queries.ts";
import { empty, literals, raw, sql, type Sql } from "../storage/sql.ts";
import { isPausedName } from "../storage/pauses/queries.ts";
import { projection, type Projection } from "../storage/table.ts";
import type { CallRow, EntryTable, HeldEntry } from "./rows.ts";

/** What the index of due entries holds: SQLite uses the index only if a statement says so. */
export const HAS_LANE: Sql = raw("due.lane <> ''");

const rowClass = freshFirst("due.attempts");

/**
 * Fresh entries come before retries, so that failing entries cannot starve them. Within a class the oldest comes
 * first.
 */
export const OUTBOX: Claimable = {
  table: "outbox",
  id: "entry_id",
  idType: "uuid",
  states: CLAIMABLE,
  classes: [{ where: raw(`${rowClass} = 0`) }, { where: raw(`${rowClass} = 1`) }],
};

/**
 * Entries of subjects' requests: those that were never tried come first, by the time at which they were enqueued;
 * retried and parked ones follow by their gate.
 */
const ERASURES: Claimable = {
  ...OUTBOX,
  classes: [{ where: raw(`${triedLast("due.")} = 0`) }, { where: raw(`${triedLast("due.")} = 1`) }],
};

/** Claimed rows: the fence of every settle and renewal. */
export const HELD_ROWS: Claimable = { ...OUTBOX, states: HELD };

const CLAIMED = outboxMachine.target("pending", "claim") as OutboxStatus;

export interface ClaimOptions {
  readonly kind: OutboxKind;
  /** The names of calls, the one that is served first in front. An erasure is claimed whatever its name is. */
  readonly names?: readonly string[] | undefined;
  readonly limit: number;
  readonly leaseMs: number;
  /** Entries that are not claimed even if they are due. */
  readonly except?: readonly string[] | undefined;
  /** Calls with limits by key that the claim may take besides. */
  readonly grants?: readonly Grant[] | undefined;
}

const LANE: Sql = raw("due.lane");

/** Calls with limits by key. What runs is counted by the leases of calls, first tries and later ones. */
export const LIMITED_CALLS: LimitedTable = {
  queue: "calls",
  claimable: OUTBOX,
  lane: "lane",
  order: (alias) => raw(`${alias}.kind, ${alias}.lane, ${freshFirst(`${alias}.attempts`)}`),
  isOpen: (alias) =>
    sql`${raw(`${alias}.kind = 'call' and ${alias}.lane <> ''`)} and ${raw(alias)}.status in (${literals(CLAIMABLE)})`,
  isHeld: (alias) => sql`${raw(alias)}.status in (${literals(HELD)})`,
  where: sql`due.kind = 'call' and ${HAS_LANE}`,
};

/** The claim counts as the attempt, so that a call that crashes its worker is counted too. */
export function claimEntries(dialect: Dialect, of: EntryTable<unknown>, options: ClaimOptions): Sql {
  const { kind, names, limit, leaseMs, except, grants = [] } = options;
  const isErasure = kind === "erasure";
  const place = claimPlace(dialect, "due.");
  const lanes = { column: LANE, names: names ?? [], isPaused: isPausedCall(dialect) };
  const lane = grants.length === 0 ? empty : sql`lane = ${laneWithoutRate(dialect, raw("c.lane"))}, `;
  // The order of erasures is documented, and fairness between names must not change it.
  const queue: Claimable = isErasure
    ? { ...ERASURES, rank: place }
    : { ...OUTBOX, classes: OUTBOX.classes.map((one) => ({ ...one, lanes })) };
  const ofKind = sql`due.kind = ${literals([kind])}${isErasure ? empty : sql` and ${HAS_LANE}`}`;
  return claimStatement(dialect, queue, {
    limit,
    leaseMs,
    except,
    granted: { column: LANE, grants },
    where: isErasure ? sql`${ofKind} and ${place} <= ${dialect.now()}` : ofKind,
    set: sql`${lane}status = ${literals([CLAIMED])}, attempts = c.attempts + 1`,
    returning: of.columns(dialect),
  });
}

/** A condition over the lane of calls, which is their name: a person has paused them. */
export function isPausedCall(dialect: Dialect): (lane: Sql) => Sql {
  return (lane) => isPausedName(dialect, "calls", lane);
}

/** The place of a subject's request in the order of its claim. */
export function claimPlace(dialect: Dialect, alias: string): Sql {
  const gated = gate(dialect, raw(`${alias}next_attempt_at`));
  return sql`(case when ${raw(isUntried(alias))} then ${raw(`${alias}enqueued_at`)} else ${gated} end)`;
}

/** Returns the ids whose claims still hold. A lease that gave a place is not renewed once it has ended. */
export function renewEntries(dialect: Dialect, held: readonly HeldEntry[], leaseMs: number): Sql {
  const claims = held.map(({ entryId, token }) => ({ id: entryId, token }));
  return renewStatement(dialect, HELD_ROWS, claims, leaseMs, raw("entry_id"), hasPlace(dialect));
}

/** The value of `last_error` while the last attempt of an entry runs past its timeout. */
export const NOT_RETURNED = "NotReturned";

export function noteRunning(dialect: Dialect, entryId: string, token: number): Sql {
  return sql`update ${dialect.table("outbox")} set last_error = ${NOT_RETURNED}
    where entry_id = ${entryId} and token = ${token} and status in (${literals(HELD)})`;
}

/** Takes back the attempt of a claim whose outcome could not be recorded. The entry stays claimed. */
export function uncountAttempt(dialect: Dialect, entryId: string, token: number, attempts: number): Sql {
  return sql`update ${dialect.table("outbox")} set attempts = attempts - 1
    where entry_id = ${entryId} and token = ${token} and attempts = ${attempts} and attempts > 0
      and status in (${literals(HELD)})`;
}

/** A new entry. Missing values are null. */
export interface NewEntry {
  readonly entryId: string;
  readonly kind: OutboxKind;
  /** The name of the call or the resolver. */
  readonly name: string;
  readonly payload?: string | null | undefined;
  readonly subjectId?: string;
  readonly operation?: OutboxOperation;
  readonly refKind?: string;
  readonly refValue?: string;
  readonly refExtra?: string | null;
  readonly slot?: string | null;
  readonly generation?: number;
  /** The earliest instant of a claim. */
  readonly notBeforeMs?: number | undefined;
}

const NEW_ENTRY = fields<NewEntry>({
  entry_id: uuid((entry) => entry.entryId),
  kind: text((entry) => entry.kind, { shared: true }),
  name: text((entry) => entry.name),
  lane: text((entry) => (entry.kind === "call" ? entry.name : ""), { default: "" }),
  payload: text((entry) => entry.payload, { default: null }),
  subject_id: text((entry) => entry.subjectId),
  operation: text((entry) => entry.operation, { shared: true }),
  ref_kind: text((entry) => entry.refKind),
  ref_value: text((entry) => entry.refValue),
  ref_extra: text((entry) => entry.refExtra, { default: null }),
  slot: text((entry) => entry.slot, { default: null }),
  generation: int((entry) => entry.generation ?? 0, { default: 0 }),
});

const GATED_ENTRY = fields<NewEntry>({
  ...NEW_ENTRY.shape,
  not_before_ms: float((entry) => entry.notBeforeMs, { default: null }),
});

/** Skips an entry whose slot a concurrent transaction took. Returns the ids of the inserted entries. */
export function insertEntries(
  dialect: Dialect,
  entries: readonly NewEntry[],
  traceparent: string | undefined,
): Sql {
  return sql`insert into ${dialect.table("outbox")} (${NEW_ENTRY.names}, next_attempt_at, enqueued_at, traceparent)
    select ${NEW_ENTRY.list("r")}, ${dialect.instantOf(raw("r.not_before_ms"))}, ${dialect.now()},
      cast(${traceparent ?? null} as text)
    from ${dialect.rows(GATED_ENTRY, entries)} where true on conflict do nothing returning entry_id`;
}

const ID = fields<string>({ row_id: uuid((entryId) => entryId) });

/** These ids as a relation `r(row_id)`. */
export function idRows(dialect: Dialect, ids: readonly string[]): Sql {
  return dialect.rows(ID, ids);
}

/** A statement that returns nothing but ids. */
const FOUND = projection({ entryId: uuid("entry_id") });

export function idOf(row: Row): string {
  return FOUND.read(row).entryId;
}

/** The entries with these ids, locked in the common order. */
export function lockEntries(
  dialect: Dialect,
  of: EntryTable<unknown>,
  kind: OutboxKind,
  ids: readonly string[],
): Sql {
  return sql`${findEntries(dialect, of, kind, ids)} ${dialect.forUpdateOf("c")}`;
}

export function findEntries(
  dialect: Dialect,
  of: EntryTable<unknown>,
  kind: OutboxKind,
  ids: readonly string[],
): Sql {
  return sql`select ${of.columns(dialect, "c")} from ${idRows(dialect, ids)}
    join ${dialect.table("outbox")} as c on c.entry_id = r.row_id
    where c.kind = ${literals([kind])} order by c.entry_id`;
}

/** The existing ones of these ids, of any kind. */
export function knownIds(dialect: Dialect, ids: readonly string[]): Sql {
  return sql`select c.entry_id from ${idRows(dialect, ids)} join ${dialect.table("outbox")} as c on c.entry_id = r.row_id`;
}

const REQUEUED = outboxMachine.target("abandoned", "requeue") as OutboxStatus;

export function requeueEntries(dialect: Dialect, of: EntryTable<unknown>, ids: readonly string[]): Sql {
  return sql`update ${dialect.table("outbox")} as c
    set status = ${literals([REQUEUED])}, attempts = 0, next_attempt_at = null, last_error = null,
      verification = null, requeues = c.requeues + 1
    from ${idRows(dialect, ids)} where c.entry_id = r.row_id and c.status || '' in (${literals(outboxMachine.sources("requeue"))})
    returning ${of.columns(dialect)}`;
}

const LANE_OF = fields<CallRow>({
  row_id: uuid(({ entryId }) => entryId),
  lane: text(({ name, limits }) => laneOf(name, limits)),
});

/** Puts calls back into the lanes of their limits. */
export function returnToLanes(dialect: Dialect, calls: readonly CallRow[]): Sql {
  return sql`update ${dialect.table("outbox")} as c set lane = r.lane
    from ${dialect.rows(LANE_OF, calls)} where c.entry_id = r.row_id and ${LIMITED_CALLS.isOpen("c")}`;
}

export interface StatusCount {
  readonly status: OutboxStatus;
  readonly entries: number;
}

export const STATUS_COUNT: Projection<StatusCount> = projection({
  status: text("status"),
  entries: int("entries"),
});

export function countStatuses(dialect: Dialect, kind: OutboxKind): Sql {
  return sql`select status, count(*) as entries from ${dialect.table("outbox")}
    where kind = ${literals([kind])} group by status`;
}
