/**
 * Settles claims, many in one transaction: status, audit events and the completion of requests. Everything is
 * fenced by entry, token and state. If an entry may complete its subject's request, all open entries of the request
 * are locked first, in the order of their ids. So if two workers settle the last two entries, exactly one of them
 * completes the request.
 *
 * Cost: one commit and at most five round trips (begin, lock, update, events, commit) for up to a thousand
 * outcomes; outcomes without events and completion, such as retries, are one statement.
 *
 * Safe to repeat after a commit whose answer was lost: an entry that has the target state under our token is
 * settled.
 */
import type { NewAuditEvent } from "../audit/event.ts";
import type { TransactionalSink } from "../audit/sink.ts";
import type { Verification } from "../core/outbox/entry.ts";
import type { Settle } from "../core/outbox/machine.ts";
import { checkedWrite } from "../storage/write/checked-write.ts";
import { ALL_EXPECTED } from "../storage/write/stages.ts";
import type { Database, Row, Session } from "../storage/database.ts";
import type { HeldEntry } from "./rows.ts";
import {
  CLAIM,
  findSettled,
  lockWaitedFor,
  settleEntries,
  WAITED_FOR,
  type Request,
} from "./settle-queries.ts";

/** One claim's outcome. */
export interface Settlement extends HeldEntry {
  readonly event: Settle;
  /** Milliseconds until the entry is due again, for a retry or an expiry date. */
  readonly waitMs?: number | undefined;
  /** Not before this instant. */
  readonly notBeforeMs?: number | undefined;
  readonly error?: string | undefined;
  readonly verification?: Verification | undefined;
  /** The replacement of a personal ref. */
  readonly refValue?: string | undefined;
  /** Written in the same transaction, if the claim still holds. */
  readonly events?: readonly NewAuditEvent[] | undefined;
  readonly sink?: TransactionalSink | undefined;
  /** Set if this outcome may complete the request; checked under lock. */
  readonly completes?: Request | undefined;
  /** The events to write when the request is complete. */
  readonly completion?: NewAuditEvent | undefined;
  /**
   * Do not settle an entry that would complete the request; answer `completes`, so that an outside sink gets the
   * event first.
   */
  readonly asks?: boolean | undefined;
  /** A caller waits for the answer. */
  readonly failFast?: boolean | undefined;
}

/**
 * `lost`: the claim was lost, nothing was written. `completes`: not settled, because it would complete the request.
 */
export type Settled = "settled" | "completed" | "lost" | "completes";

export async function settle(db: Database, settlements: readonly Settlement[]): Promise<readonly Settled[]> {
  const isPlain = settlements.every(({ events, completes }) => !completes && (events ?? []).length === 0);
  return isPlain ? settleIn(db, settlements) : db.transaction((session) => settleIn(session, settlements));
}

/** `onComplete` runs inside the transaction: if it throws, the settlement is rolled back. */
export async function settleIn(
  session: Session,
  given: readonly Settlement[],
  onComplete?: (request: Request) => Promise<void>,
): Promise<readonly Settled[]> {
  const places = placesById(given);
  const sorted = places.map((place) => given[place] as Settlement);
  const waiting = await lockRequests(session, sorted);
  const withheld = new Set(sorted.filter((one) => one.asks && isLast(one, sorted, waiting)));
  const items = withheld.size === 0 ? sorted : sorted.filter((one) => !withheld.has(one));
  const answers = await checkedWrite<Settlement, Settled>(session.dialect, {
    items,
    checked: async () => {
      if (items.length === 0) return [];
      const done = among(items, await session.query(settleEntries(session.dialect, items)));
      const completing = completed(done, waiting);
      await append(session, done, completing);
      for (const { completes } of completing) if (completes) await onComplete?.(completes);
      return answersFor(items, done, (one) => (completing.has(one) ? "completed" : "settled"));
    },
    findWritten: async (missing) => {
      const rows = await session.query(findSettled(session.dialect, missing));
      return answersFor(missing, among(missing, rows), () => "settled");
    },
    lost: "lost",
  });
  const answered: Settled[] = given.map(() => "completes");
  let next = 0;
  for (const [index, one] of sorted.entries())
    if (!withheld.has(one)) answered[places[index] as number] = answers[next++] as Settled;
  return answered;
}

/** The places of the settlements, in the order of their entries' ids. */
function placesById(given: readonly Settlement[]): readonly number[] {
  const idAt = (place: number): string => (given[place] as Settlement).entryId;
  return given.map((_, place) => place).toSorted((a, b) => (idAt(a) < idAt(b) ? -1 : 1));
}

/** The settlements whose claims are in the rows. */
function among(settlements: readonly Settlement[], rows: readonly Row[]): readonly Settlement[] {
  // Each claim is settled by one row; or there is one row that stands for all.
  if (rows.length === settlements.length || rows[0]?.["stage"] === ALL_EXPECTED) return settlements;
  const written = new Map<string, Set<number>>();
  for (const row of rows) {
    const { entryId, token } = CLAIM.read(row);
    written.set(entryId, (written.get(entryId) ?? new Set()).add(token));
  }
  return settlements.filter(({ entryId, token }) => written.get(entryId)?.has(token) === true);
}

/** Undefined for those that are not done. */
function answersFor(
  settlements: readonly Settlement[],
  done: readonly Settlement[],
  answer: (settlement: Settlement) => Settled,
): readonly (Settled | undefined)[] {
  if (done.length === settlements.length) return settlements.map(answer);
  const isDone = new Set(done);
  return settlements.map((one) => (isDone.has(one) ? answer(one) : undefined));
}

function requestName({ subjectId, operation }: Request): string {
  return `${operation} ${subjectId}`;
}

/** The entries that each request waits for, by request: ids and the tokens that hold them. */
type Waiting = ReadonlyMap<string, ReadonlyMap<string, number>>;

async function lockRequests(session: Session, settlements: readonly Settlement[]): Promise<Waiting> {
  const waiting = new Map<string, Map<string, number>>();
  const requests = settlements.flatMap(({ completes }) => completes ?? []);
  for (const request of requests) waiting.set(requestName(request), new Map());
  if (waiting.size === 0) return waiting;
  const ids = settlements.map(({ entryId }) => entryId);
  for (const row of await session.query(lockWaitedFor(session.dialect, requests, ids))) {
    const { entryId, token, subjectId, operation } = WAITED_FOR.read(row);
    if (subjectId === undefined || operation === undefined) continue;
    waiting.get(requestName({ subjectId, operation }))?.set(entryId, token);
  }
  return waiting;
}

/** The settlements that complete their request: the last one of each request without other open entries. */
function completed(settlements: readonly Settlement[], waiting: Waiting): ReadonlySet<Settlement> {
  const last = new Map<string, { settlement: Settlement; left: number }>();
  for (const settlement of settlements) {
    if (!settlement.completes) continue;
    const name = requestName(settlement.completes);
    const entries = waiting.get(name);
    const left = last.get(name)?.left ?? entries?.size ?? Infinity;
    last.set(name, { settlement, left: entries?.has(settlement.entryId) ? left - 1 : left });
  }
  return new Set([...last.values()].filter(({ left }) => left === 0).map(({ settlement }) => settlement));
}

/** True if this settlement, together with the others, completes the request. Requires a valid claim. */
function isLast(one: Settlement, settlements: readonly Settlement[], waiting: Waiting): boolean {
  const holds = ({ entryId, token, completes }: Settlement): boolean =>
    completes !== undefined && waiting.get(requestName(completes))?.get(entryId) === token;
  return completed(settlements.filter(holds), waiting).has(one);
}

async function append(
  session: Session,
  settlements: readonly Settlement[],
  completing: ReadonlySet<Settlement>,
): Promise<void> {
  const bySink = new Map<TransactionalSink, NewAuditEvent[]>();
  for (const one of settlements) {
    if (!one.sink) continue;
    const events = bySink.get(one.sink) ?? [];
    bySink.set(one.sink, events);
    events.push(...(one.events ?? []));
    if (completing.has(one) && one.completion) events.push(one.completion);
  }
  for (const [sink, events] of bySink) if (events.length > 0) await sink.appendIn(session, events);
}
