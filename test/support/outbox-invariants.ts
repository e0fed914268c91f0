/**
 * The checker of the outbox and its audit trail: what must hold at any moment, whoever died or slept in between. It
 * reads the tables of either database, what happened in the world, and where events go to a sink outside the database,
 * what that was told; and says in words what is wrong. The numbers I3 to I11 are the invariants of docs/; other ids
 * are rules of the specification.
 */
import type { NewAuditEvent } from "../../src/audit/event.ts";
import { EVENT, toAuditEvent } from "../../src/audit/rows.ts";
import { HELD, outboxMachine, type OutboxStatus } from "../../src/core/outbox/machine.ts";
import { ENTRY } from "../../src/outbox/rows.ts";
import type { Database, Row } from "../../src/storage/database.ts";
import { literals, sql } from "../../src/storage/sql.ts";
import { checkCompletions, checkEvents, type Fact } from "./outbox-trail.ts";
import type { FileSink, Visit, Visits } from "./visits.ts";

/** What the entries of a test have to keep to. */
export interface OutboxTerms {
  /** How often an entry may be called before it is requeued or parked. */
  readonly attemptMax: number;
  /** Events go to a sink outside the database. */
  readonly isForeign?: boolean;
  /** Resolvers whose refs are personal data themselves. */
  readonly personal?: readonly string[];
  /** A request is complete only when it is verified. */
  readonly requiresVerification?: boolean;
}

interface Outside {
  readonly visits: Visits;
  readonly sink: FileSink;
}

export async function checkOutbox(
  database: Database,
  terms: OutboxTerms,
  { visits, sink }: Outside,
): Promise<string[]> {
  const { dialect } = database;
  // In one transaction, so that entries and events are of the same moment.
  const [rows = [], told = []] = await database.batch([
    sql`select ${ENTRY.columns(dialect)} from ${dialect.table("outbox")} where kind <> 'event' order by entry_id`,
    sql`select ${EVENT.columns(dialect)} from ${dialect.table("audit_events")} order by seq`,
  ]);
  const events: readonly NewAuditEvent[] = terms.isForeign ? sink.facts() : told.map(toAuditEvent);
  const facts = events.map((event, at): Fact => ({ ...event, at }));
  const world = visits.read();
  const wrong = rows.flatMap((row) => {
    const calls = world.filter(({ key }) => key === row["entry_id"]);
    return [...checkRow(row, terms), ...checkCalls(row, calls, terms)];
  });
  const entries = rows.filter((row) => row["kind"] === "erasure");
  wrong.push(...checkEvents(entries, facts), ...checkCompletions(entries, facts, terms));
  const known = new Set(rows.map((row) => row["entry_id"]));
  for (const { key } of world)
    if (!known.has(key)) wrong.push(`O-01: a call was made for entry ${key}, which does not exist`);
  wrong.push(...(await tryTerminal(database, rows)));
  return wrong;
}

/** What the database says about entries that are done with or were given up, as text: only a person changes it. */
export async function settledEntries(database: Database): Promise<ReadonlyMap<string, string>> {
  const { dialect } = database;
  const rows = await database.query(
    sql`select ${ENTRY.columns(dialect)} from ${dialect.table("outbox")} where kind <> 'event' order by entry_id`,
  );
  const resting = rows.filter(({ status }) => isOver(status as OutboxStatus));
  return new Map(resting.map((row) => [row["entry_id"] as string, JSON.stringify(row)]));
}

function isOver(status: OutboxStatus): boolean {
  return outboxMachine.isTerminal(status) || status === "abandoned";
}

/** An entry by itself: counted within its bounds, held or due or over, and empty once nobody will call with it. */
function checkRow(row: Row, { attemptMax, personal = [] }: OutboxTerms): string[] {
  const wrong: string[] = [];
  const status = row["status"] as OutboxStatus;
  const say = (rule: string, what: string): void =>
    void wrong.push(`${rule}: entry ${String(row["entry_id"])} (${String(row["name"])}, ${status}): ${what}`);
  const attempts = Number(row["attempts"]);
  const token = Number(row["token"]);
  const isRelay = row["name"] === "$audit";
  // The claim that finds the budget used up is counted as well: it ends the entry.
  if (!isRelay && attempts > attemptMax + 1) say("I10", `it was claimed ${attempts} times of ${attemptMax}`);
  if (attempts > token) say("I10", `${attempts} attempts under ${token} claims`);
  if (isOver(status) && status !== "superseded" && token === 0) say("I9", "nobody ever claimed it");
  const isGated = row["next_attempt_at"] !== null;
  if (!isGated && [...HELD, "failed", "scheduled"].includes(status)) say("I5", "it will never be due");
  if (isGated && isOver(status)) say("I5", "it is over and still due");
  const isCleared = outboxMachine.isTerminal(status) || (status === "abandoned" && row["operation"] !== null);
  if (isCleared && row["payload"] !== null) say("I11", "its payload is still there");
  if (!isCleared && row["payload"] === null && row["operation"] !== "erase")
    say("I11", "its payload is gone");
  const isScrubbed = row["ref_value"] === "scrubbed";
  if (outboxMachine.isTerminal(status) && personal.includes(row["name"] as string) && !isScrubbed)
    say("O-19", "its personal ref is still there");
  return wrong;
}

/** Calls follow claims, and a success follows a call. */
function checkCalls(row: Row, visits: readonly Visit[], { attemptMax }: OutboxTerms): string[] {
  const wrong: string[] = [];
  const { entry_id: id, status, verification, name } = row;
  const begun = visits.filter(({ phase }) => phase === "begun");
  for (const method of new Set(begun.map((one) => one.method))) {
    const calls = begun.filter((one) => one.method === method).length;
    if (calls > Number(row["token"]))
      wrong.push(`I2: entry ${String(id)}: ${calls} calls of ${method} under ${String(row["token"])} claims`);
  }
  const last = Math.max(0, ...begun.map(({ attempt }) => attempt));
  if (last > attemptMax) wrong.push(`K-07: entry ${String(id)}: call ${last} of at most ${attemptMax}`);
  const isDone = (isVerification: boolean): boolean =>
    visits.some(({ method, isFine }) => isFine === true && (method === "verify") === isVerification);
  const isOwn = (name as string).startsWith("$");
  if (!isOwn && (status === "succeeded" || verification !== null) && !isDone(false))
    wrong.push(`I2: entry ${String(id)}: booked as done, but no call of it ever succeeded`);
  if (status === "succeeded" && verification === "required" && !isDone(true))
    wrong.push(`O-12: entry ${String(id)}: booked as verified, but nobody looked`);
  return wrong;
}

const TRIED_MAX = 3;

/** The database itself must refuse to change what is done with. */
async function tryTerminal(database: Database, rows: readonly Row[]): Promise<string[]> {
  const done = rows.filter((row) => outboxMachine.isTerminal(row["status"] as OutboxStatus));
  const wrong: string[] = [];
  for (const { entry_id: id, status } of done.slice(0, TRIED_MAX)) {
    const isRefused = await database
      .query(
        sql`update ${database.dialect.table("outbox")} set attempts = attempts + 1
          where entry_id = ${id} and status in (${literals(outboxMachine.terminal)})`,
      )
      .then(() => false)
      .catch((error: unknown) => /never changes/.test(String(error)));
    if (!isRefused)
      wrong.push(`I4: entry ${String(id)}: the database let it change although ${String(status)}`);
  }
  return wrong;
}
