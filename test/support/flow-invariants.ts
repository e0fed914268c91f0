/**
 * The checker of the event flow: what must hold at any moment, whoever died or slept in between, and what must hold in
 * the end. It reads the runs, the rows of the outbox and what happened in the world, and says in words what is wrong.
 * What a run should have sent is told from its definition alone (flow-story.ts), without the orchestrator's own code.
 */
import type { AnyHandler, FlowStatus, SagaDef } from "amends/events";
import { flowMachine, OPEN_FLOWS } from "../../src/core/flow/machine.ts";
import { CLAIMABLE, HELD, outboxMachine, type OutboxStatus } from "../../src/core/outbox/machine.ts";
import type { Database, Row } from "../../src/storage/database.ts";
import { literals, sql } from "../../src/storage/sql.ts";
import { readStory } from "./flow-story.ts";
import type { Visit, Visits } from "./visits.ts";

export interface FlowTerms {
  readonly saga: SagaDef;
  /** Those that are no steps of the saga. */
  readonly handlers: readonly AnyHandler[];
  /** How a run may end. */
  readonly ends: readonly FlowStatus[];
  /** By handler: what each call of it that is booked as a success has written in its transaction. */
  readonly writes: ReadonlyMap<string, string>;
  /** The event that every handler sends besides its answer. */
  readonly side: string;
}

interface Outside {
  readonly visits: Visits;
  /** How often each entry is in the user's own table. */
  ledger(): Promise<ReadonlyMap<string, number>>;
}

export async function checkFlows(
  database: Database,
  terms: FlowTerms,
  outside: Outside,
  isOver: boolean,
): Promise<string[]> {
  const { dialect } = database;
  // In one transaction, so that runs and rows are of the same moment.
  const [runs = [], rows = []] = await database.batch([
    sql`select * from ${dialect.table("saga_state")} order by saga_type, process_id, run`,
    sql`select entry_id, kind, name, event_id, handler, causation, saga_id, status, attempts, token, next_attempt_at
      from ${dialect.table("outbox")} where event_id is not null order by entry_id`,
  ]);
  const world = outside.visits.read();
  const wrong = [
    ...(await Promise.all(runs.map((run) => checkRun(run, rows, world, terms, isOver)))).flat(),
    ...rows.flatMap((row) => checkDelivery(row, rows, world, terms)),
    ...checkOnce(rows),
    ...runs.flatMap(({ saga_id: id }) =>
      checkUndoing(
        rows.filter((row) => row["saga_id"] === id),
        world,
        terms,
      ),
    ),
    ...checkWrites(rows, await outside.ledger(), terms, runs.length),
  ];
  if (isOver) wrong.push(...rows.flatMap(stillOpen));
  wrong.push(...(await tryEnded(database, runs)));
  return wrong;
}

const MOVING: readonly FlowStatus[] = OPEN_FLOWS.filter((status) => status !== "stalled");
/** Somebody will come to it: a worker, or a person. */
const WORKED_ON: readonly string[] = [...CLAIMABLE, "abandoned"];

/** Runs that wait for something that nobody will do, at any moment. */
export async function strandedFlows(database: Database): Promise<number> {
  const { dialect } = database;
  const [row] = await database.query(
    sql`select count(*) as found from ${dialect.table("saga_state")} as s where s.status in (${literals(MOVING)})
      and not exists (select 1 from ${dialect.table("outbox")} as o
        where o.saga_id = s.saga_id and o.handler is not null and o.status in (${literals(WORKED_ON)}))`,
  );
  return Number(row?.["found"]);
}

/** What the database says about runs that have ended, as text: nobody changes it any more. */
export async function endedFlows(database: Database): Promise<ReadonlyMap<string, string>> {
  const rows = await database.query(
    sql`select * from ${database.dialect.table("saga_state")} where status in (${literals(flowMachine.terminal)})`,
  );
  return new Map(rows.map((row) => [row["saga_id"] as string, JSON.stringify(row)]));
}

/** A run: its state is what its events tell, and every event of it is there. */
async function checkRun(
  run: Row,
  rows: readonly Row[],
  world: readonly Visit[],
  { saga, handlers, ends }: FlowTerms,
  isOver: boolean,
): Promise<string[]> {
  const wrong: string[] = [];
  const status = run["status"] as FlowStatus;
  const say = (rule: string, what: string): void => void wrong.push(`${rule}: run (${status}): ${what}`);
  const trail = (run["trail"] as string).split(" ");
  const byId = new Map(rows.map((row) => [row["entry_id"] as string, row]));
  for (const id of trail) if (!byId.has(id)) say("F-07", `it sent ${id}, which is not there`);
  if (new Set(trail).size < trail.length) say("F-08", "it sent one row twice");
  for (const row of rows)
    if (row["saga_id"] === run["saga_id"] && !trail.includes(row["entry_id"] as string))
      say("F-07", `${String(row["name"])} was sent for it, and it does not know`);
  const isAwaited = ({ handler, status: now }: Row): boolean =>
    handler !== null && WORKED_ON.includes(now as string);
  if (MOVING.includes(status) && !rows.some((row) => row["saga_id"] === run["saga_id"] && isAwaited(row)))
    say("F-17", "nothing is under way for it");
  const sent = trail.map((id) => byId.get(id)).filter((row) => row !== undefined);
  const events = new Map(sent.map((row) => [row["event_id"] as string, row["name"] as string]));
  const notes = (JSON.parse(run["notes"] as string) as { action: string }[]).map(({ action }) => action);
  const story = await readStory(saga, handlers, [...events.values()], notes);
  for (const what of story.wrong) say("F-06", what);
  if (story.wrong.length > 0) return wrong;
  if (!story.statuses.includes(status))
    say("F-07", `its events tell that it is ${story.statuses.join(" or ")}`);
  const completed = JSON.parse(run["completed_steps"] as string) as string[];
  // A success that came late is undone, and its event was never sent.
  const isLate = story.failing !== undefined && completed.length === story.completed.length + 1;
  const known = isLate ? [...story.completed, story.failing] : story.completed;
  if (completed.join() !== known.join())
    say("F-07", `it did ${completed.join()}, its events tell of ${known.join()}`);
  const begun = sent.filter((row) => row["handler"] === saga.step(story.failing ?? "")?.handler.name);
  const isCalled = begun.some((row) => world.some(({ key }) => key === keyOf(row)));
  if (status === "failed" && isCalled && !story.isRefused && !story.isFailingUndone)
    say("F-12", `${String(story.failing)} was called, and is not undone`);
  if (run["due_at"] !== null && status !== "running") say("F-16", "its time still runs");
  if (isOver && !ends.includes(status)) say("F-14", `it should have ended ${ends.join(" or ")}`);
  return wrong;
}

/** The key under which a handler was called for a delivery. */
function keyOf(row: Row): string {
  return `${String(row["event_id"])}:${String(row["handler"])}`;
}

/** A delivery by itself, and the calls that were made for it. */
function checkDelivery(
  row: Row,
  rows: readonly Row[],
  world: readonly Visit[],
  { side }: FlowTerms,
): string[] {
  const wrong: string[] = [];
  const { handler, event_id: event, name, token } = row;
  if (handler === null) return wrong;
  const status = row["status"] as OutboxStatus;
  const say = (rule: string, what: string): void =>
    void wrong.push(`${rule}: ${String(name)} for ${handler as string} (${status}): ${what}`);
  const calls = world.filter(({ key }) => key === keyOf(row));
  const begun = calls.filter(({ phase }) => phase === "begun").length;
  if (begun > Number(token)) say("I2", `${begun} calls under ${String(token)} claims`);
  if (Number(row["attempts"]) > Number(token)) say("I10", "more tries than claims");
  if (status === "succeeded" && !calls.some(({ isFine }) => isFine === true))
    say("I2", "booked as done, but no call of it ever ended well");
  if (HELD.includes(status) && row["next_attempt_at"] === null) say("I5", "it will never be due");
  if (outboxMachine.isTerminal(status) && row["next_attempt_at"] !== null)
    say("I5", "it is over and still due");
  const sides = rows.filter((one) => one["causation"] === event && one["name"] === side).length;
  const wanted = status === "succeeded" ? 1 : 0;
  if (sides !== wanted) say("F-15", `${side} was sent ${sides} times, not ${wanted}`);
  return wrong;
}

/** Each event comes once to each handler. */
function checkOnce(rows: readonly Row[]): string[] {
  const pairs = rows.map((row) => `${String(row["event_id"])} for ${String(row["handler"])}`);
  return pairs.filter((pair, at) => pairs.indexOf(pair) < at).map((pair) => `F-17: ${pair} is there twice`);
}

/** In the world: nothing is undone before what was done after it has been undone. */
function checkUndoing(
  rows: readonly Row[],
  world: readonly Visit[],
  { saga, handlers }: FlowTerms,
): string[] {
  const at = (command: string | undefined, isEnd: boolean): number => {
    const undoer = handlers.find(({ on }) => on.type === command)?.name;
    const keys = rows
      .filter(({ handler }) => handler === undoer)
      .map((row) => `${String(row["event_id"])}:${undoer}`);
    return world.findIndex(
      ({ key, phase, isFine }) => keys.includes(key) && (isEnd ? isFine : phase === "begun"),
    );
  };
  const steps = saga.steps.map(({ compensation }) => compensation?.type);
  return steps.flatMap((step, index) => {
    const later = steps.slice(index + 1).find((one) => at(one, false) >= 0);
    const [begun, ended] = [at(step, false), at(later, true)];
    const isEarly = later !== undefined && begun >= 0 && (ended < 0 || begun < ended);
    return isEarly ? [`F-11: ${String(step)} was carried out before ${later} had been`] : [];
  });
}

/** What handlers wrote in their transactions is there exactly as often as it is booked. */
function checkWrites(
  rows: readonly Row[],
  ledger: ReadonlyMap<string, number>,
  { saga, handlers, writes }: FlowTerms,
  runs: number,
): string[] {
  const wrong: string[] = [];
  const all = [...handlers, ...saga.steps.map((step) => step.handler)];
  for (const [handler, entry] of writes) {
    const success = all.find(({ name }) => name === handler)?.ok.type;
    const isDone = (row: Row): boolean =>
      rows.some(({ name, causation }) => name === success && causation === row["event_id"]);
    // Where it answered with err, nothing that it wrote is kept.
    const booked = rows.filter((row) => row["handler"] === handler && isDone(row)).length;
    const found = ledger.get(entry) ?? 0;
    if (found !== booked) wrong.push(`F-07: ${handler} wrote ${found} times, and is booked ${booked} times`);
  }
  const asked = ledger.get("asked");
  if (asked !== undefined && asked !== runs) wrong.push(`F-09: ${asked} orders, and ${runs} runs`);
  return wrong;
}

function stillOpen(row: Row): string[] {
  const isOpen = row["handler"] !== null && CLAIMABLE.includes(row["status"] as OutboxStatus);
  return isOpen ? [`F-17: ${String(row["name"])} for ${String(row["handler"])} was left behind`] : [];
}

/** The database itself must refuse to change a run that has ended. */
async function tryEnded(database: Database, runs: readonly Row[]): Promise<string[]> {
  const ended = runs.filter((run) => flowMachine.isTerminal(run["status"] as FlowStatus));
  const wrong: string[] = [];
  for (const { saga_id: id } of ended.slice(0, 1)) {
    const isRefused = await database
      .query(
        sql`update ${database.dialect.table("saga_state")} set version = version + 1 where saga_id = ${id}`,
      )
      .then(() => false)
      .catch((error: unknown) => /never changes/.test(String(error)));
    if (!isRefused) wrong.push("I4: the database let a run change that has ended");
  }
  return wrong;
}
