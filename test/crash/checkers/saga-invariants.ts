/**
 * The invariants of sagas. They hold at any moment: after crashes, late workers, operators' actions and restarts. The
 * checker reads the tables and, if the test recorded them, the effects; it returns each violation in words. The ids I1
 * to I10 are the invariants of docs/; other ids are rules of docs/spec.md.
 */
import { checkEnd } from "./saga-end.ts";
import { claimCount } from "../../../src/core/claim-token.ts";
import { sagaMachine, CLAIMABLE } from "../../../src/core/saga/machine.ts";
import type { LogEntry } from "../../../src/sagas/journal/journal.ts";
import { executionColumns } from "../../../src/sagas/journal/queries.ts";
import { LINE, toLogEntry, toRecord } from "../../../src/sagas/journal/rows.ts";
import type { Database, Row } from "../../../src/storage/database.ts";
import { literals, raw, sql } from "../../../src/storage/sql.ts";
import { HistoryReader, type SagaHistory } from "./saga-history.ts";
import type { Effect, Effects } from "../external-world/effects.ts";
import { checkFamilies } from "./saga-family.ts";
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
  const { rows, logs, attributes } = await readAll(database);
  const waits = await readWaits(database);
  const violations: string[] = checkAttributes(rows, attributes);
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
  violations.push(...checkFamilies(histories));
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

interface Everything {
  readonly rows: readonly Row[];
  readonly logs: Map<string, LogEntry[]>;
  readonly attributes: readonly Row[];
}

async function readAll(database: Database): Promise<Everything> {
  const { dialect } = database;
  const changed = dialect.epochMs(raw("updated_at"));
  // One transaction, so that rows and lines are consistent.
  const [rows = [], lines = [], attributes = []] = await snapshot(database, [
    sql`select ${executionColumns(dialect)}, error from ${dialect.table("saga_executions")} order by id`,
    sql`select ${LINE.columns(dialect)} from ${dialect.table("saga_logs")} order by saga_id, id`,
    sql`select saga_id, name, value, saga_name, status, ${changed} as updated_at from ${dialect.table("saga_attributes")}`,
  ]);
  const logs = new Map<string, LogEntry[]>();
  for (const line of lines) {
    const id = line["saga_id"] as string;
    const known = logs.get(id);
    if (known) known.push(toLogEntry(line));
    else logs.set(id, [toLogEntry(line)]);
  }
  return { rows, logs, attributes };
}

/** Each saga has exactly the rows of its attributes, and they say of it what its own row says. */
function checkAttributes(sagas: readonly Row[], attributes: readonly Row[]): string[] {
  const due = sagas.flatMap((saga) => {
    const { id, name, status, updated_at: at, attributes: given } = saga;
    const all = Object.entries(JSON.parse((given as string | null) ?? "{}") as Record<string, unknown>);
    return all.map(([key, value]) => [id, key, JSON.stringify(value), name, status, at].join(" "));
  });
  const there = attributes.map((row) =>
    ["saga_id", "name", "value", "saga_name", "status", "updated_at"].map((column) => row[column]).join(" "),
  );
  const missing = due.filter((one) => !there.includes(one)).map((one) => `S-39: no row of attribute ${one}`);
  const foreign = there
    .filter((one) => !due.includes(one))
    .map((one) => `S-39: nothing has attribute ${one}`);
  return [...missing, ...foreign];
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
  if (claimCount(token) !== claims + (begun && record.reverses === undefined ? 1 : 0))
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
