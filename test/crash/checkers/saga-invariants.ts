/**
 * The invariants of sagas. They hold at any moment: after crashes, late workers, operators' actions and restarts. The
 * checker reads the tables and, if the test recorded them, the effects; it returns each violation in words. The ids I1
 * to I10 are the invariants of docs/; other ids are rules of docs/spec.md.
 */
import { claimCount } from "../../../src/core/claim-token.ts";
import { sagaMachine, CLAIMABLE } from "../../../src/core/saga/machine.ts";
import type { LogEntry } from "../../../src/sagas/journal/journal.ts";
import { executionColumns } from "../../../src/sagas/journal/queries.ts";
import { LINE, toLogEntry, toRecord } from "../../../src/sagas/journal/rows.ts";
import type { Database, Row } from "../../../src/storage/database.ts";
import { literals, sql } from "../../../src/storage/sql.ts";
import { HistoryReader, type SagaHistory } from "./saga-history.ts";
import type { Effect, Effects } from "../external-world/effects.ts";
import { checkWaits, readWaits } from "./saga-waits.ts";
import { checkSagaCalls } from "./saga-calls.ts";
import { snapshot } from "./snapshot.ts";

export interface InvariantOptions {
  /** The recovery budget of the saga definitions under test. Default: 5. */
  readonly recoveryMax?: number;
}

export async function checkSagaInvariants(
  database: Database,
  effects?: Effects | readonly Effect[],
  { recoveryMax = 5 }: InvariantOptions = {},
): Promise<string[]> {
  const { rows, logs } = await readAll(database);
  const waits = await readWaits(database);
  const violations: string[] = [];
  const histories = new Map<string, SagaHistory>();
  for (const row of rows) {
    // Rows that were written through the storage contract have no plan, and are not checked.
    if (row["plan"] === "") continue;
    const lines = logs.get(row["id"] as string) ?? [];
    const history = new HistoryReader(readRecord(row, lines), recoveryMax).read();
    histories.set(history.record.id, history);
    violations.push(
      ...history.violations,
      ...checkRow(row, history),
      ...checkEnd(history),
      ...checkWaits(history, waits),
    );
  }
  const known = new Set(rows.map((row) => row["id"]));
  for (const id of logs.keys())
    if (!known.has(id)) violations.push(`I9: there are lines of saga ${id}, which does not exist`);
  violations.push(...(await checkTerminalRows(database, rows)));
  if (effects) {
    const world = "read" in effects ? effects.read() : effects;
    violations.push(...checkSagaCalls(histories, world, await readOutbox(database)));
  }
  return violations;
}

/** The rows and lines of sagas that have ended, as text. They must never change. */
export async function endedSagas(database: Database): Promise<ReadonlyMap<string, string>> {
  const { rows, logs } = await readAll(database);
  return new Map(
    rows
      .filter((row) => sagaMachine.isTerminal(row["status"] as never))
      .map((row) => {
        const { now_at: _, ...lasting } = row;
        const id = row["id"] as string;
        return [id, JSON.stringify([lasting, logs.get(id) ?? []])];
      }),
  );
}

async function readAll(database: Database): Promise<{ rows: readonly Row[]; logs: Map<string, LogEntry[]> }> {
  const { dialect } = database;
  // One transaction, so that rows and lines are consistent.
  const [rows = [], lines = []] = await snapshot(database, [
    sql`select ${executionColumns(dialect)}, error from ${dialect.table("saga_executions")} order by id`,
    sql`select ${LINE.columns(dialect)} from ${dialect.table("saga_logs")} order by saga_id, id`,
  ]);
  const logs = new Map<string, LogEntry[]>();
  for (const line of lines) {
    const id = line["saga_id"] as string;
    const known = logs.get(id);
    if (known) known.push(toLogEntry(line));
    else logs.set(id, [toLogEntry(line)]);
  }
  return { rows, logs };
}

/** A log that cannot be replayed must not stop the checker: the checker reports it. */
function readRecord(row: Row, lines: readonly LogEntry[]): ReturnType<typeof toRecord> {
  try {
    return toRecord(row, lines);
  } catch {
    return { ...toRecord(row, []), entries: lines };
  }
}

async function readOutbox(database: Database): Promise<readonly Row[]> {
  return database.query(
    sql`select saga_id, name from ${database.dialect.table("outbox")} where kind = 'event' and saga_id is not null`,
  );
}

/** The row matches the log, and the saga is claimed, due or ended. */
function checkRow(row: Row, { record, state, claims, recoveries, owned }: SagaHistory): string[] {
  const { id, begun, entries } = record;
  const wrong: string[] = [];
  const report = (rule: string, what: string): void => void wrong.push(`${rule}: saga ${id}: ${what}`);
  const status = row["status"] as typeof state.status;
  if (status !== state.status) report("I9", `its row says ${status}, its log adds up to ${state.status}`);
  const version = Number(row["version"]);
  if (version > (entries.at(-1)?.id ?? 1)) report("I9", `its row is at version ${version}, its log is not`);
  const token = Number(row["token"]);
  if (claimCount(token) !== claims + (begun ? 1 : 0))
    report("I9", `its row has token ${token}, its log has ${claims} claims`);
  const gate = record.dueAtMs;
  if (CLAIMABLE.includes(status)) {
    if (gate === undefined) report("I5", `it is ${status} and neither held nor due`);
    if (owned !== (record.owner !== undefined))
      report("I5", `it is ${owned ? "owned" : "released"} in its log, but not in its row`);
  } else if (gate !== undefined || record.owner !== undefined) report("I5", `it is ${status} and still held`);
  if (recoveries !== undefined && record.recoveryAttempts !== recoveries)
    report("K-07", `its row counts ${record.recoveryAttempts} recoveries, its log shows ${recoveries}`);
  return wrong;
}

/** The guarantees at the end of a saga. They do not apply if an operator skipped or resolved work. */
function checkEnd({ record, state, starts, done, refused, uncalled, isByOperator }: SagaHistory): string[] {
  const wrong: string[] = [];
  // A step that its fallback replaced was undone before the fallback started, whatever the saga did then.
  const passed = record.plan.filter(({ fallback }) => starts.has(`${record.id}:${fallback ?? ""}:act`));
  const cleared = new Set(passed.map(({ name }) => `${record.id}:${name}:undo`));
  const undos = [...starts.entries()].filter(([key]) => key.endsWith(":undo") && !cleared.has(key));
  const order = undos
    .toSorted(([, a], [, b]) => (a[0]?.version ?? 0) - (b[0]?.version ?? 0))
    .map(([key]) => record.plan.findIndex(({ name }) => key === `${record.id}:${name}:undo`));
  if (order.some((index, at) => at > 0 && index >= (order[at - 1] as number)))
    wrong.push(`I6: saga ${record.id}: its undos did not begin in reverse order`);
  if (isByOperator) return wrong;
  for (const { name, undo, undoOnErr, atomic, fallback, instead } of record.plan) {
    const act = `${record.id}:${name}:act`;
    const isDone = done.has(act);
    const isOther = done.has(`${record.id}:${fallback ?? instead ?? ""}:act`);
    if (state.status === "COMPLETED" && isOther && isDone)
      wrong.push(`S-20: saga ${record.id}: both step ${name} and its fallback are done`);
    if (state.status === "COMPLETED" && !isDone && !isOther)
      wrong.push(`I6: saga ${record.id}: COMPLETED, but step ${name} is not done`);
    if (state.status !== "FAILED" || !undo || !starts.has(act)) continue;
    const isSure = uncalled.has(act) || (refused.has(act) && !undoOnErr);
    const nothingHappened = !isDone && (atomic || isSure);
    if (!nothingHappened && !done.has(`${record.id}:${name}:undo`))
      wrong.push(`I6: saga ${record.id}: FAILED, but step ${name} may have happened and was not undone`);
  }
  if (state.status === "COMPLETED" && undos.length > 0)
    wrong.push(`I6: saga ${record.id}: COMPLETED, but some steps were undone`);
  return wrong;
}

const TRIED_MAX = 5;

/** The database itself must refuse to change a saga that has ended. */
async function checkTerminalRows(database: Database, rows: readonly Row[]): Promise<string[]> {
  const { dialect } = database;
  const ended = rows.filter((row) => sagaMachine.isTerminal(row["status"] as never)).slice(0, TRIED_MAX);
  const wrong: string[] = [];
  for (const { id, status } of ended) {
    const refused = await database
      .query(
        sql`update ${dialect.table("saga_executions")} set version = version + 1
          where id = ${id} and status in (${literals(sagaMachine.terminal)})`,
      )
      .then(() => false)
      .catch((error: unknown) => /never changes/.test(String(error)));
    if (!refused)
      wrong.push(`I4: saga ${String(id)}: the database accepted a change of a ${String(status)} row`);
  }
  return wrong;
}
