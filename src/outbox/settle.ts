/**
 * Books outcomes of claims, many in one transaction: status, audit events and the completion of requests. Everything
 * is fenced by entry, token and state. Where an entry's end may complete its subject's request, all entries that the
 * request waits for are locked first, in the order of their ids, so that of two who finish the last two exactly one
 * sees that nothing is left.
 *
 * Cost: one commit and at most five round trips (begin, lock, update, events, commit) for up to a thousand outcomes;
 * outcomes without events and completion, such as retries, are one statement.
 *
 * Safe to repeat after a commit whose fate is unknown: an entry that is where we wanted it, under our token, is booked.
 */
import type { NewAuditEvent } from "../audit/event.ts";
import type { TransactionalSink } from "../audit/sink.ts";
import { OPERATIONS, type OutboxOperation, type Verification } from "../core/outbox/entry.ts";
import { BLOCKING, CLAIMABLE, settled, type Settle } from "../core/outbox/machine.ts";
import { holding } from "../storage/claim.ts";
import type { Column, Database, Dialect, Row, Session } from "../storage/database.ts";
import { join, literals, raw, sql, type Sql } from "../storage/sql.ts";
import { HELD_ROWS, idRows } from "./queries.ts";

/** Whose request an entry belongs to. */
export interface Request {
  readonly subjectId: string;
  readonly operation: OutboxOperation;
}

/** One claim's outcome. */
export interface Settlement {
  readonly entryId: string;
  readonly token: number;
  readonly event: Settle;
  /** Milliseconds until it is due again, for what is tried again or parked. */
  readonly waitMs?: number | undefined;
  /** Not before this instant. */
  readonly notBeforeMs?: number | undefined;
  readonly error?: string | undefined;
  readonly verification?: Verification | undefined;
  /** What takes the place of a personal ref. */
  readonly refValue?: string | undefined;
  /** Written in the same transaction, if the claim still holds. */
  readonly events?: readonly NewAuditEvent[] | undefined;
  readonly sink?: TransactionalSink | undefined;
  /** With this the request may be complete; it is looked at under lock. */
  readonly completes?: Request | undefined;
  /** What is written when the request is complete. */
  readonly completion?: NewAuditEvent | undefined;
  /** Do not book what would complete the request, say so: somebody must be told first. */
  readonly asks?: boolean | undefined;
  /** Somebody waits for the answer. */
  readonly failFast?: boolean | undefined;
}

/** `lost`: the claim does not hold any more, nothing was written. `completes`: not booked, because it was asked. */
export type Booked = "booked" | "completed" | "lost" | "completes";

export async function settle(db: Database, items: readonly Settlement[]): Promise<readonly Booked[]> {
  const isPlain = items.every(({ events, completes }) => !completes && (events ?? []).length === 0);
  return isPlain ? settleIn(db, items) : db.transaction((session) => settleIn(session, items));
}

/** `onComplete` runs inside the transaction: what it throws takes the booking back. */
export async function settleIn(
  session: Session,
  given: readonly Settlement[],
  onComplete?: (request: Request) => Promise<void>,
): Promise<readonly Booked[]> {
  const { dialect } = session;
  const sorted = given.toSorted((a, b) => (a.entryId < b.entryId ? -1 : 1));
  const waiting = await lockRequests(session, sorted);
  const withheld = new Set(sorted.filter((item) => item.asks && isLast(item, sorted, waiting)));
  const items = sorted.filter((item) => !withheld.has(item));
  const rows = items.length > 0 ? await session.query(settleEntries(dialect, items)) : [];
  const written = new Map(rows.map(held));
  const isWritten = ({ entryId, token }: Settlement): boolean => written.get(entryId) === token;
  const done = items.filter(isWritten);
  const completing = completed(done, waiting);
  await append(session, done, completing);
  for (const { completes } of completing) if (completes) await onComplete?.(completes);
  const missing = done.length < items.length ? items.filter((item) => !isWritten(item)) : [];
  const before = missing.length > 0 ? await session.query(findOurs(dialect, missing)) : [];
  for (const row of before) written.set(...held(row));
  return given.map((item) => {
    if (withheld.has(item)) return "completes";
    if (!isWritten(item)) return "lost";
    return completing.has(item) ? "completed" : "booked";
  });
}

/** An entry moves once under each token, so that both together name the claim. */
function held(row: Row): [entryId: string, token: number] {
  return [row["entry_id"] as string, Number(row["token"])];
}

function requestName({ subjectId, operation }: Request): string {
  return `${operation} ${subjectId}`;
}

/** The entries that each request waits for, by request: ids and the tokens that hold them. */
type Waiting = ReadonlyMap<string, ReadonlyMap<string, number>>;

async function lockRequests(session: Session, items: readonly Settlement[]): Promise<Waiting> {
  const waiting = new Map<string, Map<string, number>>();
  for (const { completes } of items) if (completes) waiting.set(requestName(completes), new Map());
  if (waiting.size === 0) return waiting;
  for (const row of await session.query(lockStatement(session.dialect, items))) {
    const name = requestName({
      subjectId: row["subject_id"] as string,
      operation: row["operation"] as OutboxOperation,
    });
    waiting.get(name)?.set(row["entry_id"] as string, Number(row["token"]));
  }
  return waiting;
}

/** Those whose booking completes their request: the last of each request that has nothing else to wait for. */
function completed(items: readonly Settlement[], waiting: Waiting): ReadonlySet<Settlement> {
  const last = new Map<string, { item: Settlement; left: number }>();
  for (const item of items) {
    if (!item.completes) continue;
    const name = requestName(item.completes);
    const entries = waiting.get(name);
    const left = last.get(name)?.left ?? entries?.size ?? Infinity;
    last.set(name, { item, left: entries?.has(item.entryId) ? left - 1 : left });
  }
  return new Set([...last.values()].filter(({ left }) => left === 0).map(({ item }) => item));
}

/** Would its booking, together with the others', complete the request? Only a claim that still holds can. */
function isLast(item: Settlement, items: readonly Settlement[], waiting: Waiting): boolean {
  const holds = ({ entryId, token, completes }: Settlement): boolean =>
    completes !== undefined && waiting.get(requestName(completes))?.get(entryId) === token;
  return completed(items.filter(holds), waiting).has(item);
}

async function append(
  session: Session,
  items: readonly Settlement[],
  completing: ReadonlySet<Settlement>,
): Promise<void> {
  const bySink = new Map<TransactionalSink, NewAuditEvent[]>();
  for (const item of items) {
    if (!item.sink) continue;
    const events = bySink.get(item.sink) ?? [];
    bySink.set(item.sink, events);
    events.push(...(item.events ?? []));
    if (completing.has(item) && item.completion) events.push(item.completion);
  }
  for (const [sink, events] of bySink) if (events.length > 0) await sink.appendIn(session, events);
}

/**
 * Every row that this flush will touch, and every row that a request waits for, in one order. Subjects are looked up
 * one by one in their index, and ids by the key: a plan made on an empty table would scan the open rows instead.
 */
function lockStatement(dialect: Dialect, items: readonly Settlement[]): Sql {
  const table = dialect.table("outbox");
  const requests = items.flatMap(({ completes }) => completes ?? []);
  const waiting = OPERATIONS.flatMap((operation) => {
    const subjects = requests.filter((one) => one.operation === operation).map(({ subjectId }) => subjectId);
    if (subjects.length === 0) return [];
    return [
      sql`select w.entry_id from ${table} as w where w.kind = 'erasure' and w.operation = ${literals([operation])}
        and ${dialect.among(raw("w.subject_id"), [...new Set(subjects)])} and w.status in (${literals(BLOCKING)})`,
    ];
  });
  const own = items.map(({ entryId }) => entryId);
  const all = join([...waiting, sql`select r.row_id from ${idRows(dialect, own)}`], " union ");
  return sql`with ids(row_id) as materialized (${all})
    select c.entry_id, c.subject_id, c.operation, c.token from ids join ${table} as c on c.entry_id = ids.row_id
    where c.status || '' in (${literals(BLOCKING)}) and coalesce(c.verification, '') <> 'pending'
    order by c.entry_id ${dialect.forUpdateOf("c")}`;
}

const SETTLE: readonly Column[] = [
  { name: "row_id", type: "uuid" },
  { name: "row_token", type: "bigint" },
  { name: "event", type: "text" },
  { name: "to_status", type: "text" },
  { name: "wait_ms", type: "text" },
  { name: "not_before_ms", type: "text" },
  { name: "error", type: "text" },
  { name: "verification", type: "text" },
  { name: "ref_value", type: "text" },
];

function settleRow(item: Settlement): readonly unknown[] {
  const { entryId, token, event, waitMs, notBeforeMs, error, verification, refValue } = item;
  return [
    entryId,
    token,
    event,
    settled(event),
    waitMs ?? null,
    notBeforeMs ?? null,
    error ?? null,
    verification ?? null,
    refValue ?? null,
  ];
}

/**
 * What an entry for a subject would have written is gone once nobody will call with it; a call of the user's keeps its
 * input while it is abandoned, for a requeue. A verification's mark is set once: told again after a lost answer, it is
 * found and not written anew.
 */
function settleEntries(dialect: Dialect, items: readonly Settlement[]): Sql {
  const rows = dialect.rows(SETTLE, items.map(settleRow));
  const isOpen = sql`r.to_status in (${literals(CLAIMABLE)})`;
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
      payload = case when ${isOpen} or (r.event = 'abandon' and c.operation is null) then c.payload else null end,
      ref_value = coalesce(r.ref_value, c.ref_value),
      slot = case when ${isOpen} or r.event = 'abandon' then c.slot else null end,
      ref_extra = case when r.ref_value is null then c.ref_extra else null end
    from ${rows} where ${holding(HELD_ROWS, raw("entry_id"))} and (r.event <> 'verify' or c.verification is null)
    returning entry_id, token`;
}

function findOurs(dialect: Dialect, items: readonly Settlement[]): Sql {
  return sql`select c.entry_id, c.token from ${dialect.rows(SETTLE, items.map(settleRow))}
    join ${dialect.table("outbox")} as c on c.entry_id = r.row_id and c.token = r.row_token and c.status = r.to_status
    where r.event <> 'verify' or c.verification = r.verification`;
}
