/**
 * The hot statements: the outcomes of many deliveries in one commit, on PostgreSQL in one statement. Each outcome is
 * all or nothing: its delivery must still be held under its token, the run that it moves must still be at the version
 * that the decision was made on, and only then is anything of it written. Outcomes that do not hold are refused, and
 * cost the others nothing.
 *
 * Safe to repeat after a commit whose fate is unknown: what is in the books already is found there, and stays.
 */
import type { Execute } from "../sagas/flush.ts";
import type { Column, Dialect, Row, Stage } from "../storage/database.ts";
import { raw, sql } from "../storage/sql.ts";
import type { Settlement } from "./delivery.ts";
import {
  ANSWER,
  CLAIMED,
  HELD,
  heldRow,
  markDeliveries,
  moveRuns,
  selectBehind,
  takeHold,
  tellOthers,
} from "./book.ts";
import { insertRows, insertRuns } from "./spread.ts";

export interface Settled {
  readonly applied: boolean;
  /** Of the rows that were to be claimed at once: those that are ours, and since when they exist. */
  readonly claimed: ReadonlyMap<string, number>;
  /** Something waits behind one of those that were settled together, and may be claimed now. */
  readonly more: boolean;
}

export interface Piece {
  readonly settlement: Settlement;
  /** The rows that this process takes at once, where nothing that came before is in their way. */
  readonly claims: ReadonlySet<string>;
}

export async function settleTogether(
  dialect: Dialect,
  execute: Execute,
  pieces: readonly Piece[],
  leaseMs: number,
): Promise<readonly Settled[]> {
  const claims = firstInTurn(pieces);
  const settlements = pieces.map((piece) => piece.settlement);
  const stages = stagesOf(dialect, settlements, claims, leaseMs);
  if (stages.length === 0) return settlements.map(() => NOTHING_DONE);
  const answers = (await execute(dialect.chain(stages, ANSWER))).flat();
  const done = new Set(answers.filter(isOf("marked")).map(idOf));
  const moved = new Set(answers.filter(isOf("moved")).map(idOf));
  const news = answers.filter(isOf("news"));
  await lookAgain(dialect, execute, settlements, claims, done, news);
  const ours = new Map(news.filter(isOurs).map((row) => [idOf(row), Number(row["at"])]));
  const more = answers.some(isOf("behind"));
  return settlements.map(({ delivery, move, out }) => {
    const applied = delivery ? done.has(delivery.id) : move ? moved.has(move.run.sagaId) : true;
    const taken = out.rows.flatMap(({ id }) => {
      const at = claims.has(id) ? ours.get(id) : undefined;
      return at === undefined ? [] : [[id, at] as const];
    });
    return { applied, claimed: new Map(applied ? taken : []), more };
  });
}

const NOTHING_DONE: Settled = { applied: true, claimed: new Map(), more: false };

/** Deliveries before runs, by everybody, so that nobody waits in a circle. */
function stagesOf(
  dialect: Dialect,
  settlements: readonly Settlement[],
  claims: ReadonlySet<string>,
  leaseMs: number,
): readonly Stage[] {
  const held = settlements
    .filter((one) => one.delivery !== undefined)
    .toSorted((a, b) => ((a.delivery?.id ?? "") < (b.delivery?.id ?? "") ? -1 : 1));
  const moves = settlements.filter((one) => one.move !== undefined);
  const runs = settlements.flatMap((one) => one.out.runs.map((run) => [run, one] as const));
  const rows = settlements.flatMap((one) => one.out.rows.map((row) => [row, one] as const));
  const queued = held.filter((one) => one.queue !== undefined);
  const isLinked = moves.some((one) => one.delivery !== undefined);
  const stages: Stage[] = [];
  if (isLinked) stages.push({ name: "held", statement: takeHold(dialect, held), forOthers: true });
  if (moves.length > 0)
    stages.push({ name: "moved", statement: moveRuns(dialect, moves, isLinked), answers: true });
  if (held.length > 0)
    stages.push({ name: "marked", statement: markDeliveries(dialect, held, isLinked), answers: true });
  if (runs.length > 0) stages.push({ name: "begun", statement: insertRuns(dialect, runs, held.length > 0) });
  if (rows.length > 0) {
    const known = { held: held.length > 0, runs: runs.length > 0 };
    stages.push({ name: "news", ...insertRows(dialect, rows, claims, leaseMs, known) });
  }
  if (queued.length > 0)
    stages.push({ name: "behind", statement: selectBehind(dialect, queued), answers: true });
  const notice = rows.some(([row]) => !claims.has(row.id)) ? dialect.notify() : undefined;
  if (notice) stages.push({ name: "told", statement: tellOthers(dialect, notice), answers: true });
  return stages;
}

function isOf(stage: string): (row: Row) => boolean {
  return (row) => row["stage"] === stage;
}

function idOf(row: Row): string {
  return row["id"] as string;
}

function isOurs(row: Row): boolean {
  return row["status"] === CLAIMED && Number(row["token"]) === 1;
}

/** Of several rows for one handler in one process, only the first is taken at once. */
function firstInTurn(pieces: readonly Piece[]): ReadonlySet<string> {
  const claims = new Set<string>();
  const queues = new Set<string>();
  for (const { settlement, claims: wanted } of pieces) {
    for (const { id, handler, correlation } of settlement.out.rows) {
      const queue = `${handler ?? ""}\n${correlation ?? id}`;
      if (wanted.has(id) && !queues.has(queue)) claims.add(id);
      queues.add(queue);
    }
  }
  return claims;
}

const KEY: readonly Column[] = HELD.slice(0, 2);

/** What an earlier, unanswered commit of ours has written is in the books, though nothing was written now. */
async function lookAgain(
  dialect: Dialect,
  execute: Execute,
  settlements: readonly Settlement[],
  claims: ReadonlySet<string>,
  done: Set<string>,
  news: Row[],
): Promise<void> {
  const missing = settlements.filter(({ delivery }) => delivery && !done.has(delivery.id));
  if (missing.length === 0) return;
  const outbox = dialect.table("outbox");
  const found = await execute([
    sql`select cast(c.entry_id as text) as id from ${dialect.rows(HELD, missing.map(heldRow))}
      join ${outbox} as c on c.entry_id = r.row_id and c.token = r.row_token and c.status = r.to_status`,
  ]);
  for (const row of found.flat()) done.add(idOf(row));
  const own = missing
    .filter(({ delivery }) => delivery && done.has(delivery.id))
    .flatMap(({ out }) => out.rows.filter((row) => claims.has(row.id)).map((row) => [row.id, 1]));
  if (own.length === 0) return;
  const again = await execute([
    sql`select cast(c.entry_id as text) as id, c.status, c.token, ${dialect.epochMs(raw("c.enqueued_at"))} as at
      from ${dialect.rows(KEY, own)} join ${outbox} as c on c.entry_id = r.row_id and c.token = r.row_token`,
  ]);
  news.push(...again.flat());
}
