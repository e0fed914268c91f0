/**
 * The invariants of the event flow: those that hold at any moment, and those that hold at the end. The checker reads the
 * runs, the outbox and the recorded calls, and returns each violation in words. The expected events of a run follow
 * from its definition alone (flow-history.ts), without the orchestrator's code.
 */
import type { AnyHandler, FlowStatus, SagaDef } from "amends/events";
import { flowMachine, OPEN_FLOWS } from "../../../src/core/flow/machine.ts";
import { CLAIMABLE, HELD, outboxMachine, type OutboxStatus } from "../../../src/core/outbox/machine.ts";
import type { Database, Row } from "../../../src/storage/database.ts";
import { literals, sql } from "../../../src/storage/sql.ts";
import { readFlowHistory } from "./flow-history.ts";
import type { EntryCall, EntryCalls } from "../external-world/entry-calls.ts";
import { snapshot } from "./snapshot.ts";

export interface FlowExpectations {
  readonly saga: SagaDef;
  /** Handlers that are not steps of the saga. */
  readonly handlers: readonly AnyHandler[];
  /** The allowed end statuses of a run. */
  readonly ends: readonly FlowStatus[];
  /** By handler: the entry that each of its successful calls writes in its transaction. */
  readonly writes: ReadonlyMap<string, string>;
  /** The side event that every handler appends to the outbox. */
  readonly side: string;
}

interface Recordings {
  readonly entryCalls: EntryCalls;
  /** The number of rows per entry in the application's table. */
  ledger(): Promise<ReadonlyMap<string, number>>;
}

export async function checkFlowInvariants(
  database: Database,
  expectations: FlowExpectations,
  recordings: Recordings,
  isOver: boolean,
): Promise<string[]> {
  const { dialect } = database;
  // One transaction, so that runs and rows are consistent.
  const [runs = [], rows = []] = await snapshot(database, [
    sql`select * from ${dialect.table("saga_state")} order by saga_type, process_id, run`,
    sql`select entry_id, kind, name, event_id, handler, causation, saga_id, status, attempts, token, next_attempt_at
      from ${dialect.table("outbox")} where event_id is not null order by entry_id`,
  ]);
  const entryCalls = recordings.entryCalls.read();
  const wrong = [
    ...(await Promise.all(runs.map((run) => checkRun(run, rows, entryCalls, expectations, isOver)))).flat(),
    ...rows.flatMap((row) => checkDelivery(row, rows, entryCalls, expectations)),
    ...checkOnce(rows),
    ...runs.flatMap(({ saga_id: id }) =>
      checkUndoing(
        rows.filter((row) => row["saga_id"] === id),
        entryCalls,
        expectations,
      ),
    ),
    ...checkWrites(rows, await recordings.ledger(), expectations, runs.length),
  ];
  if (isOver) wrong.push(...rows.flatMap(stillOpen));
  wrong.push(...(await checkTerminalRuns(database, runs)));
  return wrong;
}

const MOVING: readonly FlowStatus[] = OPEN_FLOWS.filter((status) => status !== "stalled");
/** Statuses in which a worker or an operator will handle the row. */
const WORKED_ON: readonly string[] = [...CLAIMABLE, "abandoned"];

/** The number of open runs that no worker and no operator will move on. */
export async function strandedFlows(database: Database): Promise<number> {
  const { dialect } = database;
  const [row] = await database.query(
    sql`select count(*) as found from ${dialect.table("saga_state")} as s where s.status in (${literals(MOVING)})
      and not exists (select 1 from ${dialect.table("outbox")} as o
        where o.saga_id = s.saga_id and o.handler is not null and o.status in (${literals(WORKED_ON)}))`,
  );
  return Number(row?.["found"]);
}

/** The rows of runs that have ended, as text. They must never change. */
export async function endedFlows(database: Database): Promise<ReadonlyMap<string, string>> {
  const rows = await database.query(
    sql`select * from ${database.dialect.table("saga_state")} where status in (${literals(flowMachine.terminal)})`,
  );
  return new Map(rows.map((row) => [row["saga_id"] as string, JSON.stringify(row)]));
}

/** A run's state follows from its events, and every event that it sent exists. */
async function checkRun(
  run: Row,
  rows: readonly Row[],
  entryCalls: readonly EntryCall[],
  { saga, handlers, ends }: FlowExpectations,
  isOver: boolean,
): Promise<string[]> {
  const wrong: string[] = [];
  const status = run["status"] as FlowStatus;
  const report = (rule: string, what: string): void => void wrong.push(`${rule}: run (${status}): ${what}`);
  const trail = (run["trail"] as string).split(" ");
  const byId = new Map(rows.map((row) => [row["entry_id"] as string, row]));
  for (const id of trail) if (!byId.has(id)) report("F-07", `it sent ${id}, which does not exist`);
  if (new Set(trail).size < trail.length) report("F-08", "it sent one row twice");
  for (const row of rows)
    if (row["saga_id"] === run["saga_id"] && !trail.includes(row["entry_id"] as string))
      report("F-07", `${String(row["name"])} was sent for it, but is not in its trail`);
  const isAwaited = ({ handler, status: now }: Row): boolean =>
    handler !== null && WORKED_ON.includes(now as string);
  if (MOVING.includes(status) && !rows.some((row) => row["saga_id"] === run["saga_id"] && isAwaited(row)))
    report("F-17", "no open delivery moves it on");
  const sent = trail.map((id) => byId.get(id)).filter((row) => row !== undefined);
  const events = new Map(sent.map((row) => [row["event_id"] as string, row["name"] as string]));
  const notes = (JSON.parse(run["notes"] as string) as { action: string }[]).map(({ action }) => action);
  const history = await readFlowHistory(saga, handlers, [...events.values()], notes);
  for (const what of history.wrong) report("F-06", what);
  if (history.wrong.length > 0) return wrong;
  if (!history.statuses.includes(status))
    report("F-07", `by its events it is ${history.statuses.join(" or ")}`);
  const completed = JSON.parse(run["completed_steps"] as string) as string[];
  // A late success is undone, and its event is never sent.
  const isLate = history.failing !== undefined && completed.length === history.completed.length + 1;
  const known = isLate ? [...history.completed, history.failing] : history.completed;
  if (completed.join() !== known.join())
    report("F-07", `its row says that ${completed.join()} completed, its events say ${known.join()}`);
  const begun = sent.filter((row) => row["handler"] === saga.step(history.failing ?? "")?.handler.name);
  const isCalled = begun.some((row) => entryCalls.some(({ key }) => key === keyOf(row)));
  if (status === "failed" && isCalled && !history.isRefused && !history.isFailingUndone)
    report("F-12", `${String(history.failing)} was called but not undone`);
  if (run["due_at"] !== null && status !== "running") report("F-16", "its deadline is still set");
  if (isOver && !ends.includes(status)) report("F-14", `it must end ${ends.join(" or ")}`);
  return wrong;
}

/** The idempotency key of a delivery. */
function keyOf(row: Row): string {
  return `${String(row["event_id"])}:${String(row["handler"])}`;
}

/** One delivery and its calls. */
function checkDelivery(
  row: Row,
  rows: readonly Row[],
  entryCalls: readonly EntryCall[],
  { side }: FlowExpectations,
): string[] {
  const wrong: string[] = [];
  const { handler, event_id: event, name, token } = row;
  // What a saga gets opens its run: nobody's code is called for it.
  if (handler === null || (handler as string).startsWith("$saga.")) return wrong;
  const status = row["status"] as OutboxStatus;
  const report = (rule: string, what: string): void =>
    void wrong.push(`${rule}: ${String(name)} for ${handler as string} (${status}): ${what}`);
  const calls = entryCalls.filter(({ key }) => key === keyOf(row));
  const begun = calls.filter(({ phase }) => phase === "begun").length;
  if (begun > Number(token)) report("I2", `${begun} calls under ${String(token)} claims`);
  if (Number(row["attempts"]) > Number(token)) report("I10", "there are more attempts than claims");
  if (status === "succeeded" && !calls.some(({ isFine }) => isFine === true))
    report("I2", "recorded as succeeded, but no call of it succeeded");
  if (HELD.includes(status) && row["next_attempt_at"] === null) report("I5", "it will never be due");
  if (outboxMachine.isTerminal(status) && row["next_attempt_at"] !== null)
    report("I5", "it has ended but is still due");
  const sides = rows.filter((one) => one["causation"] === event && one["name"] === side).length;
  const wanted = status === "succeeded" ? 1 : 0;
  if (sides !== wanted) report("F-15", `${side} was sent ${sides} times, not ${wanted}`);
  return wrong;
}

/** Each event has one delivery to each handler. */
function checkOnce(rows: readonly Row[]): string[] {
  const pairs = rows.map((row) => `${String(row["event_id"])} for ${String(row["handler"])}`);
  return pairs.filter((pair, at) => pairs.indexOf(pair) < at).map((pair) => `F-17: ${pair} exists twice`);
}

/** The recorded compensations ran in reverse order. */
function checkUndoing(
  rows: readonly Row[],
  entryCalls: readonly EntryCall[],
  { saga, handlers }: FlowExpectations,
): string[] {
  const at = (command: string | undefined, isEnd: boolean): number => {
    const undoer = handlers.find(({ on }) => on.type === command)?.name;
    const keys = rows
      .filter(({ handler }) => handler === undoer)
      .map((row) => `${String(row["event_id"])}:${undoer}`);
    return entryCalls.findIndex(
      ({ key, phase, isFine }) => keys.includes(key) && (isEnd ? isFine : phase === "begun"),
    );
  };
  const steps = saga.steps.map(({ compensation }) => compensation?.type);
  return steps.flatMap((step, index) => {
    const later = steps.slice(index + 1).find((one) => at(one, false) >= 0);
    const [begun, ended] = [at(step, false), at(later, true)];
    const isEarly = later !== undefined && begun >= 0 && (ended < 0 || begun < ended);
    return isEarly ? [`F-11: ${String(step)} ran before ${later} had ended`] : [];
  });
}

/** A handler's transactional writes exist exactly as often as its successes are recorded. */
function checkWrites(
  rows: readonly Row[],
  ledger: ReadonlyMap<string, number>,
  { saga, handlers, writes }: FlowExpectations,
  runs: number,
): string[] {
  const wrong: string[] = [];
  const all = [...handlers, ...saga.steps.map((step) => step.handler)];
  for (const [handler, entry] of writes) {
    const success = all.find(({ name }) => name === handler)?.ok.type;
    const isDone = (row: Row): boolean =>
      rows.some(({ name, causation }) => name === success && causation === row["event_id"]);
    // If the handler returns err, its writes are rolled back.
    const recorded = rows.filter((row) => row["handler"] === handler && isDone(row)).length;
    const found = ledger.get(entry) ?? 0;
    if (found !== recorded)
      wrong.push(`F-07: ${handler} wrote ${found} times, but ${recorded} successes of it are recorded`);
  }
  const asked = ledger.get("asked");
  if (asked !== undefined && asked !== runs) wrong.push(`F-09: there are ${asked} orders, but ${runs} runs`);
  return wrong;
}

function stillOpen(row: Row): string[] {
  const isOpen = row["handler"] !== null && CLAIMABLE.includes(row["status"] as OutboxStatus);
  return isOpen ? [`F-17: ${String(row["name"])} for ${String(row["handler"])} is still open`] : [];
}

/** The database itself must refuse to change a run that has ended. */
async function checkTerminalRuns(database: Database, runs: readonly Row[]): Promise<string[]> {
  const ended = runs.filter((run) => flowMachine.isTerminal(run["status"] as FlowStatus));
  const wrong: string[] = [];
  for (const { saga_id: id } of ended.slice(0, 1)) {
    const isRefused = await database
      .query(
        sql`update ${database.dialect.table("saga_state")} set version = version + 1 where saga_id = ${id}`,
      )
      .then(() => false)
      .catch((error: unknown) => /never changes/.test(String(error)));
    if (!isRefused) wrong.push("I4: the database accepted a change of a run that has ended");
  }
  return wrong;
}
