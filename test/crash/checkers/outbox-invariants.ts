/**
 * The invariants of the outbox and its audit trail. They hold at any moment. The checker reads the tables, the recorded
 * calls and the events of an external audit sink, and returns each violation in words. The ids I3 to I11 are the
 * invariants of docs/; other ids are rules of docs/spec.md.
 */
import type { NewAuditEvent } from "../../../src/audit/event.ts";
import { EVENT, toAuditEvent } from "../../../src/audit/rows.ts";
import { HELD, outboxMachine, type OutboxStatus } from "../../../src/core/outbox/machine.ts";
import { ENTRY } from "../../../src/outbox/rows.ts";
import type { Database, Row } from "../../../src/storage/database.ts";
import { literals, sql } from "../../../src/storage/sql.ts";
import { checkCompletions, checkEvents, type Fact } from "./outbox-audit.ts";
import type { FileSink, EntryCall, EntryCalls } from "../external-world/entry-calls.ts";
import { snapshot } from "./snapshot.ts";

/** What the checker expects of a test's entries. */
export interface OutboxExpectations {
  /** The attempt budget of an entry, until it is requeued or scheduled. */
  readonly attemptMax: number;
  /** Events go to an audit sink outside the database. */
  readonly isForeign?: boolean;
  /** Resolvers whose refs are personal data. */
  readonly personal?: readonly string[];
  /** A request completes only after its verification. */
  readonly requiresVerification?: boolean;
}

interface Recordings {
  readonly entryCalls: EntryCalls;
  readonly sink: FileSink;
}

export async function checkOutboxInvariants(
  database: Database,
  expectations: OutboxExpectations,
  { entryCalls, sink }: Recordings,
): Promise<string[]> {
  const { dialect } = database;
  // One transaction, so that entries and events are consistent.
  const [rows = [], events = []] = await snapshot(database, [
    sql`select ${ENTRY.columns(dialect)} from ${dialect.table("outbox")} where kind <> 'event' order by entry_id`,
    sql`select ${EVENT.columns(dialect)} from ${dialect.table("audit_events")} order by seq`,
  ]);
  const audited: readonly NewAuditEvent[] = expectations.isForeign ? sink.facts() : events.map(toAuditEvent);
  const facts = audited.map((event, at): Fact => ({ ...event, at }));
  const recorded = entryCalls.read();
  const wrong = rows.flatMap((row) => {
    const calls = recorded.filter(({ key }) => key === row["entry_id"]);
    return [...checkRow(row, expectations), ...checkCalls(row, calls, expectations)];
  });
  const entries = rows.filter((row) => row["kind"] === "erasure");
  wrong.push(...checkEvents(entries, facts), ...checkCompletions(entries, facts, expectations));
  const known = new Set(rows.map((row) => row["entry_id"]));
  for (const { key } of recorded)
    if (!known.has(key)) wrong.push(`O-01: a call was made for entry ${key}, which does not exist`);
  wrong.push(...(await checkTerminalRows(database, rows)));
  return wrong;
}

/** The rows of entries that have ended or were abandoned, as text. Only an operator may change them. */
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

/** One row: its attempts are within the budget, it is claimed or due or over, and its payload is removed at the end. */
function checkRow(row: Row, { attemptMax, personal = [] }: OutboxExpectations): string[] {
  const wrong: string[] = [];
  const status = row["status"] as OutboxStatus;
  const report = (rule: string, what: string): void =>
    void wrong.push(`${rule}: entry ${String(row["entry_id"])} (${String(row["name"])}, ${status}): ${what}`);
  const attempts = Number(row["attempts"]);
  const token = Number(row["token"]);
  const isRelay = row["name"] === "$audit";
  // The claim that finds the budget used up is counted too: it ends the entry.
  if (!isRelay && attempts > attemptMax + 1)
    report("I10", `it was claimed ${attempts} times, the budget is ${attemptMax}`);
  if (attempts > token) report("I10", `${attempts} attempts under ${token} claims`);
  if (isOver(status) && status !== "superseded" && token === 0) report("I9", "it was never claimed");
  const isGated = row["next_attempt_at"] !== null;
  if (!isGated && [...HELD, "failed", "scheduled"].includes(status)) report("I5", "it will never be due");
  if (isGated && isOver(status)) report("I5", "it has ended but is still due");
  const isCleared = outboxMachine.isTerminal(status) || (status === "abandoned" && row["operation"] !== null);
  if (isCleared && row["payload"] !== null) report("I11", "its payload was not removed");
  if (!isCleared && row["payload"] === null && row["operation"] !== "erase")
    report("I11", "its payload is missing");
  const isScrubbed = row["ref_value"] === "scrubbed";
  if (outboxMachine.isTerminal(status) && personal.includes(row["name"] as string) && !isScrubbed)
    report("O-19", "its personal ref was not scrubbed");
  return wrong;
}

/** Every call has a claim, and every success has a call. */
function checkCalls(
  row: Row,
  entryCalls: readonly EntryCall[],
  { attemptMax }: OutboxExpectations,
): string[] {
  const wrong: string[] = [];
  const { entry_id: id, status, verification, name } = row;
  const begun = entryCalls.filter(({ phase }) => phase === "begun");
  for (const method of new Set(begun.map((one) => one.method))) {
    const calls = begun.filter((one) => one.method === method).length;
    if (calls > Number(row["token"]))
      wrong.push(`I2: entry ${String(id)}: ${calls} calls of ${method} under ${String(row["token"])} claims`);
  }
  const last = Math.max(0, ...begun.map(({ attempt }) => attempt));
  if (last > attemptMax) wrong.push(`K-07: entry ${String(id)}: call ${last} of at most ${attemptMax}`);
  const isDone = (isVerification: boolean): boolean =>
    entryCalls.some(({ method, isFine }) => isFine === true && (method === "verify") === isVerification);
  const isOwn = (name as string).startsWith("$");
  if (!isOwn && (status === "succeeded" || verification !== null) && !isDone(false))
    wrong.push(`I2: entry ${String(id)}: recorded as succeeded, but no call of it succeeded`);
  if (status === "succeeded" && verification === "required" && !isDone(true))
    wrong.push(`O-12: entry ${String(id)}: recorded as verified, but the verification was not called`);
  return wrong;
}

const TRIED_MAX = 3;

/** The database itself must refuse to change an entry that has ended. */
async function checkTerminalRows(database: Database, rows: readonly Row[]): Promise<string[]> {
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
      wrong.push(`I4: entry ${String(id)}: the database accepted a change of a ${String(status)} row`);
  }
  return wrong;
}
