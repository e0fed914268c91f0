/**
 * The hot statements: the outcomes of many deliveries in one commit, on PostgreSQL in one statement. Each outcome is
 * all or nothing: its delivery must still be held under its token, the run that it moves must still be at the version
 * that the decision was made on, and only then is anything of it written. Outcomes that do not hold are refused, and
 * cost the others nothing.
 *
 * Safe to repeat after a commit whose fate is unknown: what is in the books already is found there, and stays.
 */
import { FIRST_CLAIM } from "../../core/claim-token.ts";
import type { Execute } from "../../sagas/journal/flush.ts";
import { isRefusal, type WriteMode } from "../../storage/checked-write.ts";
import type { Dialect, Row } from "../../storage/database.ts";
import { ALL_EXPECTED, statementsOf, type Stage } from "../../storage/stages.ts";
import type { Claimed } from "../../runtime/lease-pool.ts";
import {
  ANSWER,
  CLAIMED,
  markDeliveries,
  moveRuns,
  selectBehind,
  selectMarked,
  selectOurs,
  takeHold,
  tellOthers,
  type Numbered,
} from "./outcome-queries.ts";
import type { NewRow, Settlement } from "../run/delivery.ts";
import { insertRows, insertRuns, NEW_ROW_KEY, type Brought } from "./insert-queries.ts";

export interface Settled {
  readonly applied: boolean;
  /** Of the rows that were to be claimed at once, by whomever: those that are ours, and since when they exist. */
  readonly claimed: ReadonlyMap<NewRow, number>;
  /** Something waits behind one of those that were settled together, and may be claimed now. */
  readonly more: boolean;
}

export interface Item {
  readonly settlement: Settlement;
  /** The rows that this process takes at once, where nothing that came before is in their way. */
  readonly claims: readonly NewRow[];
}

/** `isAlone`: the statement is a transaction by itself, so that the optimistic form may be tried first. */
export async function settleTogether(
  dialect: Dialect,
  execute: Execute,
  items: readonly Item[],
  leaseMs: number,
  isAlone: boolean,
): Promise<readonly Settled[]> {
  const claims = firstInTurn(items);
  const all = items.map(({ settlement }, n) => ({ n, settlement }));
  const write = async (mode: WriteMode): Promise<readonly Row[]> => {
    const stages = stagesOf(dialect, all, claims, leaseMs, mode);
    return stages.length === 0
      ? NOTHING_TO_DO
      : (await execute(statementsOf(dialect, stages, ANSWER))).flat();
  };
  let mode: WriteMode =
    isAlone && all.every(mayBeOptimistic)
      ? dialect.pick<WriteMode>({ postgres: "optimistic", sqlite: "checked" })
      : "checked";
  const answers = await write(mode).catch((error: unknown) => {
    if (mode === "checked" || !isRefusal(dialect, error, [NEW_ROW_KEY])) throw error;
    mode = "checked";
    return write(mode);
  });
  const [first] = answers;
  if (first?.["stage"] === ALL_EXPECTED) {
    const at = Number(first["at"]);
    const done = { applied: true, claimed: new Map(Array.from(claims, (row) => [row, at])), more: false };
    return items.map(() => done);
  }
  const news = answers.filter(isOf("news"));
  const holds =
    mode === "optimistic" ? () => true : await holding(dialect, execute, all, claims, answers, news);
  const times = new Map(news.filter(isOurs).map((row) => [idOf(row), Number(row["at"])]));
  const claimed = new Map(
    Array.from(claims).flatMap((row) => {
      const at = times.get(row.id);
      return at === undefined ? [] : [[row, at] as const];
    }),
  );
  const more = answers.some(isOf("behind"));
  return all.map((one) => ({ applied: holds(one), claimed, more }));
}

const NOTHING_TO_DO: readonly Row[] = [{ stage: ALL_EXPECTED }];

/** That somebody else was faster is rare for a claim, and nothing out of the ordinary for a run that belongs to none. */
function mayBeOptimistic({ settlement: { delivery, move } }: Numbered): boolean {
  return delivery !== undefined || move === undefined;
}

/** Deliveries before runs, each in the order of their ids, by everybody, so that nobody waits in a circle. */
function stagesOf(
  dialect: Dialect,
  all: readonly Numbered[],
  claims: ReadonlySet<NewRow>,
  leaseMs: number,
  mode: WriteMode,
): readonly Stage[] {
  const held: Numbered[] = [];
  const moves: Numbered[] = [];
  const free: Numbered[] = [];
  const queued: Numbered[] = [];
  const rows: Brought<"rows">[] = [];
  const runs: Brought<"runs">[] = [];
  const isOptimistic = mode === "optimistic";
  const otherwise = isOptimistic ? "refuse" : "answer";
  // The same event may be sent twice at once. Where everything holds, the first is as good as the second; where one of
  // the two may be refused, both are given, and the key lets one in.
  const ids = new Set<string>();
  for (const one of all) {
    const { delivery, move, queue, out } = one.settlement;
    if (delivery) held.push(one);
    if (move) (delivery ? moves : free).push(one);
    if (queue) queued.push(one);
    for (const made of out.rows) {
      if (!isOptimistic || !ids.has(made.id)) rows.push({ made, by: one });
      ids.add(made.id);
    }
    for (const made of out.runs) runs.push({ made, by: one });
  }
  held.sort((a, b) => (deliveryOf(a) < deliveryOf(b) ? -1 : 1));
  for (const some of [moves, free]) some.sort((a, b) => (runOf(a) < runOf(b) ? -1 : 1));
  const hasMoves = moves.length > 0;
  const marked: Stage[] = [];
  if (held.length > 0) {
    const statement = markDeliveries(dialect, held, hasMoves, mode);
    marked.push({ name: "marked", statement, expectRows: held.length, otherwise });
  }
  const moved: Stage[] = [];
  if (hasMoves && !isOptimistic)
    moved.push(
      ...dialect.pick({ postgres: [{ name: "held", statement: takeHold(dialect, held) }], sqlite: [] }),
    );
  if (hasMoves || free.length > 0) {
    const statement = moveRuns(dialect, moves, free, mode);
    moved.push({ name: "moved", statement, expectRows: moves.length + free.length, otherwise });
  }
  const stages = isOptimistic ? [...marked, ...moved] : [...moved, ...marked];
  const known = { held: held.length > 0 && !isOptimistic, runs: runs.length > 0 };
  if (runs.length > 0) stages.push({ name: "begun", statement: insertRuns(dialect, runs, known.held) });
  if (rows.length > 0)
    stages.push({ name: "news", ...insertRows(dialect, rows, claims, leaseMs, known, mode) });
  if (queued.length > 0)
    stages.push({ name: "behind", statement: selectBehind(dialect, queued), expectRows: 0 });
  const notice = rows.some(({ made }) => !claims.has(made)) ? dialect.notify() : undefined;
  if (notice) stages.push({ name: "told", statement: tellOthers(dialect, notice), expectRows: 1 });
  return stages;
}

function deliveryOf({ settlement: { delivery } }: Numbered): string {
  return delivery?.id ?? "";
}

function runOf({ settlement: { move } }: Numbered): string {
  return move?.run.sagaId ?? "";
}

function isOf(stage: string): (row: Row) => boolean {
  return (row) => row["stage"] === stage;
}

function idOf(row: Row): string {
  return row["id"] as string;
}

function claimOf(row: Row): string {
  return nameOf({ id: idOf(row), token: Number(row["token"]) });
}

/** Names a claim: a row that was claimed again may be settled by both claims at once, and only one of them holds. */
function nameOf({ id, token }: Claimed): string {
  return `${id}#${token}`;
}

function isOurs(row: Row): boolean {
  return row["status"] === CLAIMED && Number(row["token"]) === FIRST_CLAIM;
}

/** Of several rows for one handler in one process, only the first is taken at once. */
function firstInTurn(items: readonly Item[]): ReadonlySet<NewRow> {
  const claims = new Set<NewRow>();
  const queues = new Set<string>();
  for (const { settlement, claims: wanted } of items) {
    for (const row of settlement.out.rows) {
      if (row.handler === undefined) continue;
      const queue = `${row.handler}\n${row.correlation ?? row.id}`;
      if (!queues.has(queue) && wanted.includes(row)) claims.add(row);
      queues.add(queue);
    }
  }
  return claims;
}

/**
 * Which outcomes are in the books. What an earlier, unanswered commit of ours has written is, though nothing was written
 * now: what it brought on is added to the news.
 */
async function holding(
  dialect: Dialect,
  execute: Execute,
  all: readonly Numbered[],
  claims: ReadonlySet<NewRow>,
  answers: readonly Row[],
  news: Row[],
): Promise<(one: Numbered) => boolean> {
  const marked = new Set(answers.filter(isOf("marked")).map(claimOf));
  const moved = new Set(answers.filter(isOf("moved")).map(idOf));
  const holds = ({ settlement: { delivery, move } }: Numbered): boolean =>
    delivery ? marked.has(nameOf(delivery)) : move ? moved.has(move.run.sagaId) : true;
  const missing = all.filter((one) => one.settlement.delivery && !holds(one));
  if (missing.length === 0) return holds;
  for (const row of (await execute([selectMarked(dialect, missing)])).flat()) marked.add(claimOf(row));
  const own = missing
    .filter(holds)
    .flatMap(({ settlement: { out } }) => out.rows.flatMap((row) => (claims.has(row) ? [row.id] : [])));
  if (own.length > 0) news.push(...(await execute([selectOurs(dialect, own)])).flat());
  return holds;
}
