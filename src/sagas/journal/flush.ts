/**
 * The hot statements: the starts and checkpoints of many sagas in one transaction. A line of the log is inserted at the
 * version that it makes. A claim inserts such a line too, so a worker that lost its saga finds its next version taken.
 *
 * A flush is optimistic first: plain inserts, which cost PostgreSQL less than inserts that expect a conflict. If a version is
 * taken, the transaction fails as a whole, and the flush runs again in its checked form, which refuses the items whose version
 * is taken and writes the others.
 *
 * A flush can be repeated after a commit whose answer was lost: a line that is there under our own token is ours.
 */
import { openingLines } from "../../core/saga/steps/group.ts";
import { sagaMachine } from "../../core/saga/machine.ts";
import type { PlannedStep } from "../../core/saga/plan.ts";
import { isRefusal, type UniqueKey } from "../../storage/write/checked-write.ts";
import type { Dialect, Row } from "../../storage/database.ts";
import type { Sql } from "../../storage/sql.ts";
import { insertEmissions, lineEmission, type LineEmission } from "./emission-queries.ts";
import type { Checkpoint, NewSaga } from "./journal.ts";
import {
  findLines,
  insertFencedLines,
  insertFurtherLines,
  insertLines,
  insertLinesAfter,
  insertOpenings,
  insertOptimisticLines,
  lineName,
  nameOfWritten,
  type FurtherLine,
  type Line,
} from "./line-queries.ts";
import { tellParent } from "./family-queries.ts";
import { moveSagas } from "./move-queries.ts";
import { forgetInterests, insertInterests } from "./signal-queries.ts";
import { CREATED, insertSagas } from "./start/queries.ts";

export type Item = { readonly start: NewSaga } | { readonly checkpoint: Checkpoint };

/** Runs statements in one transaction and returns the rows of each. */
export type Execute = (statements: readonly Sql[]) => Promise<readonly (readonly Row[])[]>;

export async function flush(
  dialect: Dialect,
  execute: Execute,
  items: readonly Item[],
): Promise<readonly boolean[]> {
  const sorted = sort(items);
  try {
    // Among many starts an existing id is common, and must not cost the others a second flush.
    const isAlone = items.length === 1;
    const statements = [
      ...startStatements(dialect, sorted.starts, isAlone),
      ...optimisticStatements(dialect, sorted),
    ];
    const results = await execute(withNotice(dialect, sorted, statements));
    if (isAlone || sorted.starts.length === 0) return items.map(() => true);
    const created = createdIn(results[0]);
    return items.map((item) => !("start" in item) || created.delete(item.start.id));
  } catch (error) {
    if (!isRefusal(dialect, error, TAKEN)) throw error;
    return flushChecked(dialect, execute, items, sorted);
  }
}

/** In the caller's transaction a failed statement would abort all of it: only the checked form is used. */
export function flushInside(
  dialect: Dialect,
  execute: Execute,
  items: readonly Item[],
): Promise<readonly boolean[]> {
  return flushChecked(dialect, execute, items, sort(items));
}

/** The keys whose violation means that a version or an id is taken. Any other violation is an error. */
const TAKEN: readonly UniqueKey[] = [
  { table: "saga_logs", constraint: "saga_logs_pkey", columns: ["saga_id", "id"] },
  { table: "saga_executions", constraint: "saga_executions_pkey", columns: ["id"] },
];

interface Sorted {
  readonly starts: readonly NewSaga[];
  readonly appends: readonly Checkpoint[];
  readonly moves: readonly Checkpoint[];
  readonly emissions: readonly LineEmission[];
}

function sort(items: readonly Item[]): Sorted {
  const starts: NewSaga[] = [];
  const appends: Checkpoint[] = [];
  const moves: Checkpoint[] = [];
  const emissions: LineEmission[] = [];
  for (const item of items) {
    if ("start" in item) {
      starts.push(item.start);
      continue;
    }
    const { checkpoint } = item;
    (checkpoint.move ? moves : appends).push(checkpoint);
    for (const emission of checkpoint.emissions) emissions.push(lineEmission(checkpoint, emission));
  }
  // Rows are locked in this order, by every flush of every process.
  moves.sort((a, b) => (a.sagaId < b.sagaId ? -1 : 1));
  return { starts, appends, moves, emissions };
}

/** The first one inserts the rows of the sagas. */
export function startStatements(dialect: Dialect, starts: readonly NewSaga[], isOptimistic: boolean): Sql[] {
  if (starts.length === 0) return [];
  const interested = starts.filter(({ interests }) => interests.length > 0);
  const openings = starts.filter(({ plan }) => plan[0]?.group).flatMap(openingsOf);
  const statements = [insertSagas(dialect, starts, isOptimistic)];
  if (interested.length > 0) statements.push(insertInterests(dialect, interested));
  if (openings.length > 0) statements.push(insertOpenings(dialect, openings));
  return statements;
}

/**
 * A saga that ends no longer waits for any event, and the one that waits for its end is told. Most sagas have neither waits for
 * events nor a parent.
 */
function endStatements(dialect: Dialect, { moves }: Sorted): Sql[] {
  const ended = moves.filter(({ move }) => move && sagaMachine.isTerminal(move.to));
  const interested = ended.filter(({ state }) => state.plan.some(awaitsEvents)).map(({ sagaId }) => sagaId);
  const statements = interested.length === 0 ? [] : [forgetInterests(dialect, interested)];
  for (const { sagaId, parent } of ended)
    if (parent) statements.push(...tellParent(dialect, sagaId, parent.id));
  return statements;
}

/** A step may wait for events as such, as one of several alternatives, or to end its rounds. */
export function awaitsEvents({ wait, repeat }: PlannedStep): boolean {
  const isEvent = ({ kind }: { readonly kind: string }): boolean => kind === "event";
  if (repeat?.until) return isEvent(repeat.until);
  return wait !== undefined && (isEvent(wait) || (wait.any?.some(isEvent) ?? false));
}

function optimisticStatements(dialect: Dialect, sorted: Sorted): Sql[] {
  const { appends, moves, emissions } = sorted;
  const statements: Sql[] = [];
  const lines = [...appends, ...moves].flatMap(linesOf);
  if (moves.length > 0)
    statements.push(...insertLinesAfter(dialect, moveSagas(dialect, moves, false), lines));
  else if (lines.length > 0) statements.push(insertOptimisticLines(dialect, lines));
  if (emissions.length > 0) statements.push(...insertEmissions(dialect, emissions));
  statements.push(...endStatements(dialect, sorted));
  return statements;
}

function withNotice(
  dialect: Dialect,
  { starts, emissions, moves }: Sorted,
  statements: readonly Sql[],
): readonly Sql[] {
  const isNews =
    emissions.length > 0 ||
    starts.some(isDue) ||
    moves.some(({ parent, move }) => parent && move && sagaMachine.isTerminal(move.to));
  const notice = isNews ? dialect.notify() : undefined;
  return notice ? [...statements, notice] : statements;
}

/** A worker may claim it at once. */
export function isDue({ owner, gate }: NewSaga): boolean {
  return owner === undefined && gate === undefined;
}

async function flushChecked(
  dialect: Dialect,
  execute: Execute,
  items: readonly Item[],
  sorted: Sorted,
): Promise<readonly boolean[]> {
  const { starts, appends, moves, emissions } = sorted;
  const statements = startStatements(dialect, starts, false);
  const add = (when: boolean, make: () => Sql): number => (when ? statements.push(make()) - 1 : -1);
  const appended = add(appends.length > 0, () => insertLines(dialect, appends));
  const fenced = add(moves.length > 0, () => insertFencedLines(dialect, moves));
  const further = [...appends, ...moves].flatMap(furtherLinesOf);
  add(further.length > 0, () => insertFurtherLines(dialect, further));
  add(moves.length > 0, () => moveSagas(dialect, moves, true));
  if (emissions.length > 0) statements.push(...insertEmissions(dialect, emissions));
  statements.push(...endStatements(dialect, sorted));
  const results = await execute(withNotice(dialect, sorted, statements));
  const created = createdIn(starts.length > 0 ? results[0] : []);
  // One flush may hold lines of two claims of one saga, the lost one and its successor: each is answered for its own line.
  const written = new Set([...(results[appended] ?? []), ...(results[fenced] ?? [])].map(nameOfWritten));
  const isMissing = (line: Checkpoint): boolean => !written.has(lineName(line));
  const missing = [...appends, ...moves].filter(isMissing);
  if (missing.length > 0) {
    for (const row of (await execute([findLines(dialect, missing)]))[0] ?? [])
      written.add(nameOfWritten(row));
  }
  return items.map((item) => ("start" in item ? created.delete(item.start.id) : !isMissing(item.checkpoint)));
}

export function createdIn(rows: readonly Row[] | undefined): Set<string> {
  return new Set((rows ?? []).map((row) => CREATED.read(row).id));
}

/** All lines of a checkpoint, mostly one. */
function linesOf(checkpoint: Checkpoint): readonly Line[] {
  return checkpoint.more ? [checkpoint, ...furtherLinesOf(checkpoint)] : [checkpoint];
}

function furtherLinesOf({ sagaId, version, token, more }: Checkpoint): readonly FurtherLine[] {
  return (more ?? []).map((entry, index) => ({
    sagaId,
    version: version + 1 + index,
    token,
    entry,
    head: version,
  }));
}

/** The lines that begin the other acts of a group with which a saga begins. */
function openingsOf({ id, plan, owner, token }: NewSaga): readonly Line[] {
  if (owner === undefined) return [];
  return openingLines(plan).map((entry, index) => ({ sagaId: id, version: 2 + index, token, entry }));
}
