/**
 * Writes publications and the outcomes of deliveries, many in one commit. Each outcome is all or nothing: its claim
 * must still hold, its run must be as the decision found it, and only then is anything of it written. A refused
 * outcome does not affect the others. Cost: one statement on PostgreSQL, one per stage on SQLite
 * (outcome-queries.ts).
 *
 * Safe to repeat after a commit whose answer was lost: an outcome that is written already is found by its claim.
 */
import {
  CLAIMED_ROW,
  DELIVERY_KEY,
  findClaimed,
  type DeliveryInsert,
} from "../../outbox/deliveries/insert-queries.ts";
import { findSettled } from "../../outbox/deliveries/outcome-queries.ts";
import { DELIVERY_CLAIM, type DeliveryClaim, type NewDelivery } from "../../outbox/deliveries/row.ts";
import { checkedWrite, isRefusal, type WriteMode } from "../../storage/write/checked-write.ts";
import type { Dialect, Row } from "../../storage/database.ts";
import { ALL_EXPECTED } from "../../storage/write/stages.ts";
import type { Sql } from "../../storage/sql.ts";
import type { Fanout, Move, Outcome } from "../run/outcome.ts";
import { ANSWER, writeStatements, type Contents } from "./outcome-queries.ts";
import type { RunInsert, RunMove } from "./run-queries.ts";

/** One thing to write: an outcome with what it sends, or, without an outcome, a publication. */
export interface WriteItem {
  readonly outcome: Outcome | undefined;
  readonly out: Fanout;
  /** The new rows that this process wants to insert as claimed. */
  readonly claims: readonly NewDelivery[];
}

export interface WriteAnswer {
  readonly isWritten: boolean;
  /** The rows of the whole commit that this process claimed, with their creation times. */
  readonly claimed: ReadonlyMap<NewDelivery, number>;
  /** True if a delivery waited behind one that was settled in this commit, and may be claimed now. */
  readonly hasMore: boolean;
}

type Answers = readonly (WriteAnswer | undefined)[];

const NOT_WRITTEN: WriteAnswer = { isWritten: false, claimed: new Map(), hasMore: false };

export interface WriteTools {
  readonly dialect: Dialect;
  readonly leaseMs: number;
  /** Runs statements in one transaction and returns the rows of each. */
  readonly execute: (statements: readonly Sql[]) => Promise<readonly (readonly Row[])[]>;
}

export async function writeTogether(
  tools: WriteTools,
  items: readonly WriteItem[],
): Promise<readonly WriteAnswer[]> {
  const [group, rest] = onePerRun(items);
  const contents = contentsOf(group);
  const { dialect } = tools;
  const answers = await checkedWrite(dialect, {
    items: group,
    optimistic: dialect.pick({
      postgres: async () => {
        const written = await write(tools, contents, "optimistic");
        return written.map((answer) => answer ?? NOT_WRITTEN);
      },
      sqlite: undefined,
    }),
    keys: [DELIVERY_KEY],
    checked: () => writeChecked(tools, contents),
    findWritten: (missing) => findWritten(tools, contents, missing),
    lost: NOT_WRITTEN,
  });
  if (rest.length === 0) return answers;
  const later = await writeTogether(tools, rest);
  return items.map((item) => answers[group.indexOf(item)] ?? later[rest.indexOf(item)] ?? NOT_WRITTEN);
}

/** Writes in an open transaction. If the answer says that nothing is written, the caller must roll back. */
export async function writeInside(tools: WriteTools, item: WriteItem): Promise<WriteAnswer> {
  try {
    const [answer = NOT_WRITTEN] = await write(tools, contentsOf([item]), "checked");
    return answer;
  } catch (error) {
    // The run changed concurrently: the decision is outdated.
    if (isRefusal(tools.dialect, error)) return NOT_WRITTEN;
    throw error;
  }
}

/** The statements of new rows and the runs that they begin, in an open transaction. They have nothing to answer. */
export function publishStatements(
  { dialect, leaseMs }: Omit<WriteTools, "execute">,
  out: Fanout,
): readonly Sql[] {
  return writeStatements(dialect, contentsOf([{ outcome: undefined, out, claims: [] }]), leaseMs, "checked");
}

/** Outcomes of one run are written one after the other: the first one makes the second decision outdated. */
function onePerRun(
  items: readonly WriteItem[],
): readonly [group: readonly WriteItem[], rest: readonly WriteItem[]] {
  const runs = new Set<string>();
  const rest: WriteItem[] = [];
  const group = items.filter((item) => {
    const run = item.outcome?.move?.run.sagaId;
    if (run === undefined || !runs.has(run)) return run === undefined || runs.add(run);
    rest.push(item);
    return false;
  });
  return [group, rest];
}

interface Sorted extends Contents {
  readonly items: readonly WriteItem[];
  readonly claims: ReadonlySet<NewDelivery>;
}

function contentsOf(items: readonly WriteItem[]): Sorted {
  const claims = firstInTurn(items);
  const outcomes: Outcome[] = [];
  const moves: RunMove[] = [];
  const runs: RunInsert[] = [];
  const rows: DeliveryInsert[] = [];
  for (const { outcome: cause, out } of items) {
    if (cause) outcomes.push(cause);
    if (cause?.move) moves.push({ cause, move: cause.move, trail: trailOf(cause.move, out) });
    for (const run of out.runs) runs.push({ cause, run });
    for (const row of out.rows) rows.push({ cause, row, isClaimed: claims.has(row) });
  }
  outcomes.sort((a, b) => (a.delivery.id < b.delivery.id ? -1 : 1));
  moves.sort((a, b) => (a.move.run.sagaId < b.move.run.sagaId ? -1 : 1));
  return { items, claims, outcomes, moves, runs, rows };
}

/** The ids of the run's new rows, to be appended to its trail. */
export function trailOf({ run }: Move, { rows }: Fanout): string {
  let trail = "";
  for (const { id, sagaId } of rows) if (sagaId === run.sagaId) trail += ` ${id}`;
  return trail;
}

/** Of several deliveries of one correlation to one handler, only the first is claimed at once. */
function firstInTurn(items: readonly WriteItem[]): ReadonlySet<NewDelivery> {
  const claims = new Set<NewDelivery>();
  const queues = new Set<string>();
  for (const { out, claims: wanted } of items) {
    for (const row of out.rows) {
      if (row.handler === undefined) continue;
      const queue = `${row.handler}\n${row.correlation ?? row.id}`;
      if (!queues.has(queue) && wanted.includes(row)) claims.add(row);
      queues.add(queue);
    }
  }
  return claims;
}

/** The number of retries after concurrent changes of a run. Each time another transaction made progress. */
const REFUSALS_MAX = 20;

async function writeChecked(tools: WriteTools, contents: Sorted): ReturnType<typeof write> {
  for (let refusals = 0; ; refusals++) {
    try {
      return await write(tools, contents, "checked");
    } catch (error) {
      if (refusals >= REFUSALS_MAX || !isRefusal(tools.dialect, error)) throw error;
    }
  }
}

/** Answers in the order of the items; undefined for one that was not written. */
async function write(
  { dialect, leaseMs, execute }: WriteTools,
  contents: Sorted,
  mode: WriteMode,
): Promise<Answers> {
  const { items, claims } = contents;
  const statements = writeStatements(dialect, contents, leaseMs, mode);
  const results = statements.length === 0 ? [] : await execute(statements);
  const settled = new Set<string>();
  const times = new Map<string, number>();
  let hasMore = false;
  let isAll = mode === "optimistic";
  for (const { stage, id = "", token = 0, timeMs = 0 } of results.flat().map((row) => ANSWER.read(row))) {
    if (stage === ALL_EXPECTED) for (const row of claims) times.set(row.id, timeMs);
    isAll ||= stage === ALL_EXPECTED;
    hasMore ||= stage === "behind";
    if (stage === "marked") settled.add(nameOf({ id, token }));
    if (stage === "inserted" && token > 0) times.set(id, timeMs);
  }
  const isWritten = ({ outcome }: WriteItem): boolean =>
    isAll || !outcome || settled.has(nameOf(outcome.delivery));
  const answer = answerOf(claims, times, hasMore);
  return items.map((item) => (isWritten(item) ? answer : undefined));
}

/** Outcomes that an earlier commit with a lost answer has written, and the rows that it inserted as claimed. */
async function findWritten(
  { dialect, execute }: WriteTools,
  { claims }: Sorted,
  missing: readonly WriteItem[],
): Promise<Answers> {
  const outcomes = missing.flatMap(({ outcome }) => outcome ?? []);
  const [found = []] = await execute([findSettled(dialect, outcomes)]);
  const settled = new Set(found.map((row) => nameOf(DELIVERY_CLAIM.read(row))));
  const isWritten = ({ outcome }: WriteItem): boolean =>
    outcome !== undefined && settled.has(nameOf(outcome.delivery));
  const wanted = missing.filter(isWritten).flatMap(({ out }) => out.rows.filter((row) => claims.has(row)));
  const [rows = []] = wanted.length > 0 ? await execute([findClaimed(dialect, wanted)]) : [];
  const times = new Map(rows.map((row) => CLAIMED_ROW.read(row)).map(({ id, timeMs }) => [id, timeMs]));
  const answer = answerOf(claims, times, false);
  return missing.map((item) => (isWritten(item) ? answer : undefined));
}

/** The answer for each item that is written. */
function answerOf(
  claims: ReadonlySet<NewDelivery>,
  times: ReadonlyMap<string, number>,
  hasMore: boolean,
): WriteAnswer {
  const claimed = new Map<NewDelivery, number>();
  for (const row of claims) {
    const timeMs = times.get(row.id);
    if (timeMs !== undefined) claimed.set(row, timeMs);
  }
  return { isWritten: true, claimed, hasMore };
}

/** The key of a claim: a lost claim and the valid one may be in one group, and only the valid one is settled. */
function nameOf({ id, token }: DeliveryClaim): string {
  return `${id}#${token}`;
}
