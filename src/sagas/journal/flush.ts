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
import { openingLines } from "../../core/saga/group.ts";
import { BEGUN, CLAIMABLE, RECORDED, sagaMachine } from "../../core/saga/machine.ts";
import { encodePlan, UNRECORDED_PLAN } from "../../core/saga/plan.ts";
import { isRefusal, type UniqueKey } from "../../storage/write/checked-write.ts";
import type { Column, Dialect, Row } from "../../storage/database.ts";
import { empty, literals, raw, sql, type Sql } from "../../storage/sql.ts";
import { insertEmissions, lineEmission, type LineEmission } from "./emission-queries.ts";
import type { Checkpoint, Move, NewSaga } from "./journal.ts";
import { contextOf, forgetInterests, insertInterests } from "./signal-queries.ts";

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
      ...startStatements(dialect, sorted, isAlone),
      ...optimisticStatements(dialect, sorted),
    ];
    const results = await execute(withNotice(dialect, sorted, statements));
    if (isAlone || sorted.starts.length === 0) return items.map(() => true);
    const created = names(results[0], "id");
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

function startStatements(dialect: Dialect, { starts }: Sorted, isOptimistic: boolean): Sql[] {
  if (starts.length === 0) return [];
  const interested = starts.filter(({ interests }) => interests.length > 0);
  const openings = starts.filter(({ plan }) => plan[0]?.group).flatMap(openingRows);
  const statements = [insertSagas(dialect, starts, isOptimistic)];
  if (interested.length > 0) statements.push(insertInterests(dialect, interested));
  if (openings.length > 0) statements.push(insertOpenings(dialect, openings));
  return statements;
}

/** A saga that ends no longer waits for any event. Sagas without waits for events have nothing to remove. */
function endStatements(dialect: Dialect, { moves }: Sorted): Sql[] {
  const ended = moves.filter(
    ({ move, state }) =>
      move && sagaMachine.isTerminal(move.to) && state.plan.some(({ wait }) => wait?.kind === "event"),
  );
  return ended.length === 0
    ? []
    : [
        forgetInterests(
          dialect,
          ended.map(({ sagaId }) => sagaId),
        ),
      ];
}

/** Writes the saga's row before its line, as a claim does: a flush and a claim cannot deadlock. */
function optimisticStatements(dialect: Dialect, sorted: Sorted): Sql[] {
  const { appends, moves, emissions } = sorted;
  const statements: Sql[] = [];
  if (moves.length > 0) {
    const lines = insertOptimisticLines(dialect, [...appends, ...moves]);
    const move = moveSagas(dialect, moves, false);
    // Counting the moved rows makes the update finish before the insert begins.
    const together = sql`with moved as (${move} returning 1) ${lines} where (select count(*) from moved) >= 0`;
    statements.push(...dialect.pick({ postgres: [together], sqlite: [move, lines] }));
  } else if (appends.length > 0) statements.push(insertOptimisticLines(dialect, appends));
  if (emissions.length > 0) statements.push(insertEmissions(dialect, emissions));
  statements.push(...endStatements(dialect, sorted));
  return statements;
}

function withNotice(
  dialect: Dialect,
  { starts, emissions }: Sorted,
  statements: readonly Sql[],
): readonly Sql[] {
  const isNews = emissions.length > 0 || starts.some((saga) => saga.owner === undefined);
  const notice = isNews ? dialect.notify() : undefined;
  return notice ? [...statements, notice] : statements;
}

async function flushChecked(
  dialect: Dialect,
  execute: Execute,
  items: readonly Item[],
  sorted: Sorted,
): Promise<readonly boolean[]> {
  const { starts, appends, moves, emissions } = sorted;
  const statements = startStatements(dialect, sorted, false);
  const add = (when: boolean, make: () => Sql): number => (when ? statements.push(make()) - 1 : -1);
  const appended = add(appends.length > 0, () => insertLines(dialect, appends));
  const fenced = add(moves.length > 0, () => insertFencedLines(dialect, moves));
  const further = [...appends, ...moves].flatMap(furtherRows);
  add(further.length > 0, () => insertFurtherLines(dialect, further));
  add(moves.length > 0, () => moveSagas(dialect, moves, true));
  add(emissions.length > 0, () => insertEmissions(dialect, emissions));
  statements.push(...endStatements(dialect, sorted));
  const results = await execute(withNotice(dialect, sorted, statements));
  const created = names(starts.length > 0 ? results[0] : [], "id");
  // One flush may hold lines of two claims of one saga, the lost one and its successor: each is answered for its own line.
  const written = new Set([...(results[appended] ?? []), ...(results[fenced] ?? [])].map(lineName));
  const isMissing = (line: Checkpoint): boolean =>
    !written.has(`${line.sagaId}#${line.version}#${line.token}`);
  const missing = [...appends, ...moves].filter(isMissing);
  if (missing.length > 0) {
    for (const row of (await execute([findOurs(dialect, missing)]))[0] ?? []) written.add(lineName(row));
  }
  return items.map((item) => ("start" in item ? created.delete(item.start.id) : !isMissing(item.checkpoint)));
}

function lineName(row: Row): string {
  return `${row["saga_id"] as string}#${Number(row["id"])}#${Number(row["token"])}`;
}

function names(rows: readonly Row[] | undefined, column: string): Set<string> {
  return new Set((rows ?? []).map((row) => row[column] as string));
}

const START: readonly Column[] = [
  { name: "id", type: "text" },
  { name: "name", type: "text" },
  { name: "definition", type: "int" },
  { name: "context", type: "text" },
  { name: "plan", type: "text" },
  { name: "owner", type: "text" },
  { name: "token", type: "bigint" },
  { name: "lease_ms", type: "text" },
  { name: "deadline_ms", type: "text" },
];

/** With an owner, the saga is created RUNNING with its first act begun. Without one it is PENDING and due. */
function insertSagas(dialect: Dialect, starts: readonly NewSaga[], isOptimistic: boolean): Sql {
  const rows = starts.map((saga) => [
    saga.id,
    saga.name,
    saga.definition,
    contextOf(saga.input),
    saga.plan.length === 0 ? UNRECORDED_PLAN : encodePlan(saga.plan),
    saga.owner ?? null,
    saga.token,
    saga.owner === undefined ? 0 : saga.leaseMs,
    saga.deadlineMs ?? null,
  ]);
  const now = dialect.now();
  const isOwned = raw("r.owner is not null");
  const deadline = sql`case when r.deadline_ms is null then null else ${dialect.plusMs(now, raw("r.deadline_ms"))} end`;
  return sql`insert into ${dialect.table("saga_executions")}
      (id, name, definition, status, context, plan, begun, token, owner, next_attempt_at, last_attempt_at, deadline_at, created_at, updated_at)
    select r.id, r.name, r.definition, case when ${isOwned} then ${literals([BEGUN])} else ${literals([RECORDED])} end, r.context, r.plan,
      ${isOwned}, r.token, r.owner, ${dialect.plusMs(now, raw("r.lease_ms"))}, ${now}, ${deadline}, ${now}, ${now}
    from ${dialect.rows(START, rows)} ${isOptimistic ? empty : raw("where true on conflict (id) do nothing returning id")}`;
}

const LINE: readonly Column[] = [
  { name: "saga_id", type: "text" },
  { name: "id", type: "int" },
  { name: "token", type: "bigint" },
  { name: "step_name", type: "text" },
  { name: "action", type: "text" },
  { name: "status", type: "text" },
  { name: "details", type: "text" },
  { name: "next_step", type: "text" },
  { name: "next_action", type: "text" },
];

const FENCED_LINE: readonly Column[] = [...LINE, { name: "from_status", type: "text" }];
const LINE_KEY: readonly Column[] = LINE.slice(0, 3);

const LINE_NAMES = LINE.map(({ name }) => name).join(", ");
const LINE_VALUES = LINE.map(({ name }) => `r.${name}`).join(", ");

function lineRow({
  sagaId,
  version,
  token,
  entry,
}: Pick<Checkpoint, "sagaId" | "version" | "token" | "entry">): unknown[] {
  const { step, action, status, details, next } = entry;
  return [sagaId, version, token, step, action, status, details, next?.step ?? null, next?.action ?? null];
}

/** The optimistic insert: one taken version fails the statement. */
function insertOptimisticLines(dialect: Dialect, lines: readonly Checkpoint[]): Sql {
  const rows = lines.map(lineRow);
  for (const line of lines)
    if (line.more) rows.push(...furtherRows(line).map((row) => row.slice(0, LINE.length)));
  return sql`insert into ${dialect.table("saga_logs")} (${raw(LINE_NAMES)}, created_at)
    select ${raw(LINE_VALUES)}, ${dialect.now()} from ${dialect.rows(LINE, rows)}`;
}

const FURTHER_LINE: readonly Column[] = [...LINE, { name: "head", type: "int" }];

/** The further lines of a checkpoint, each with the version of the checkpoint's first line. */
function furtherRows({ sagaId, version, token, more }: Checkpoint): readonly unknown[][] {
  return (more ?? []).map((entry, index) => [
    ...lineRow({ sagaId, version: version + 1 + index, token, entry }),
    version,
  ]);
}

/** Inserts further lines only if the checkpoint's first line is there: that line is the fence of all. */
function insertFurtherLines(dialect: Dialect, rows: readonly (readonly unknown[])[]): Sql {
  return sql`insert into ${dialect.table("saga_logs")} (${raw(LINE_NAMES)}, created_at)
    select ${raw(LINE_VALUES)}, ${dialect.now()} from ${dialect.rows(FURTHER_LINE, rows)}
    where exists (
      select 1 from ${dialect.table("saga_logs")} as l where l.saga_id = r.saga_id and l.id = r.head and l.token = r.token)
    on conflict do nothing`;
}

/** The lines that begin the other acts of a group with which a saga begins. */
function openingRows({ id, plan, owner, token }: NewSaga): readonly unknown[][] {
  if (owner === undefined) return [];
  return openingLines(plan).map((entry, index) => lineRow({ sagaId: id, version: 2 + index, token, entry }));
}

/** Inserts opening lines only for sagas that this flush created: an id may belong to another saga. */
function insertOpenings(dialect: Dialect, rows: readonly (readonly unknown[])[]): Sql {
  return sql`insert into ${dialect.table("saga_logs")} (${raw(LINE_NAMES)}, created_at)
    select ${raw(LINE_VALUES)}, ${dialect.now()} from ${dialect.rows(LINE, rows)}
    where exists (select 1 from ${dialect.table("saga_executions")} as c where c.id = r.saga_id and c.token = r.token)
    on conflict do nothing`;
}

/** The checked insert of lines that leave the saga's row unchanged: their version is the fence. Taken versions are left out. */
export function insertLines(
  dialect: Dialect,
  lines: readonly Pick<Checkpoint, "sagaId" | "version" | "token" | "entry">[],
): Sql {
  return sql`insert into ${dialect.table("saga_logs")} (${raw(LINE_NAMES)}, created_at)
    select ${raw(LINE_VALUES)}, ${dialect.now()} from ${dialect.rows(LINE, lines.map(lineRow))} where true
    on conflict do nothing returning saga_id, id, token`;
}

/** The checked insert of lines that also change the saga's row: it locks the row and compares its token and status. */
function insertFencedLines(dialect: Dialect, moves: readonly Checkpoint[]): Sql {
  const rows = moves.map((one) => [...lineRow(one), (one.move as Move).from]);
  return sql`insert into ${dialect.table("saga_logs")} (${raw(LINE_NAMES)}, created_at)
    select ${raw(LINE_VALUES)}, ${dialect.now()} from ${dialect.rows(FENCED_LINE, rows)}
    join ${dialect.table("saga_executions")} as c on c.id = r.saga_id and c.token = r.token and c.status = r.from_status
    where c.status in (${literals(LEAVABLE)}) ${dialect.forUpdateOf("c")}
    on conflict do nothing returning saga_id, id, token`;
}

/** States that have an arrow out of them: the guard of every update. */
const LEAVABLE = sagaMachine.states.filter((state) => !sagaMachine.isTerminal(state));

const MOVE: readonly Column[] = [
  { name: "id", type: "text" },
  { name: "version", type: "int" },
  { name: "token", type: "bigint" },
  { name: "from_status", type: "text" },
  { name: "to_status", type: "text" },
  { name: "release_ms", type: "text" },
  { name: "error", type: "text" },
  { name: "recovered", type: "int" },
  { name: "awaits", type: "text" },
  { name: "seen", type: "int" },
];

/**
 * Moves the rows of sagas. A saga that no worker may claim has no owner and no gate. With `written`, the update moves only
 * rows whose line is there. Without it, a writer that has lost the saga fails at the insert of its line right after. A row moves
 * only to a later version: a repeat after a lost answer must not undo what an operator did meanwhile.
 */
function moveSagas(dialect: Dialect, moves: readonly Checkpoint[], written: boolean): Sql {
  const rows = moves.map(({ sagaId, version, token, move }) => {
    const { from, to, releaseMs, error, recovered, awaits } = move as Move;
    const waits = [awaits?.name ?? null, awaits?.seen ?? null];
    return [sagaId, version, token, from, to, releaseMs ?? null, error, recovered ? 1 : 0, ...waits];
  });
  const isWritten = sql`and exists (
    select 1 from ${dialect.table("saga_logs")} as l where l.saga_id = r.id and l.id = r.version and l.token = r.token)`;
  const closed = sql`r.to_status not in (${literals(CLAIMABLE)})`;
  // The row's own count of signals decides: a signal that was sent since the saga was read makes it due at once.
  const gate = sql`case when ${closed} then null when r.release_ms is null then c.next_attempt_at
    when c.signals > r.seen then ${dialect.now()} else ${dialect.plusMs(dialect.now(), raw("r.release_ms"))} end`;
  return sql`update ${dialect.table("saga_executions")} as c
    set status = r.to_status, version = r.version, next_attempt_at = ${gate}, awaits = r.awaits,
      owner = case when ${closed} or r.release_ms is not null then null else c.owner end,
      error = coalesce(r.error, c.error),
      recovery_attempts = case when r.recovered = 1 then 0 else c.recovery_attempts end, updated_at = ${dialect.now()}
    from ${dialect.rows(MOVE, rows)}
    where c.id = r.id and c.token = r.token and c.status = r.from_status and c.version < r.version
      ${written ? isWritten : empty}`;
}

/** Finds the lines that an earlier commit of ours wrote, whose answer was lost. */
function findOurs(dialect: Dialect, lines: readonly Checkpoint[]): Sql {
  return sql`select l.saga_id, l.id, l.token from ${dialect.rows(
    LINE_KEY,
    lines.map((one) => lineRow(one).slice(0, 3)),
  )}
    join ${dialect.table("saga_logs")} as l on l.saga_id = r.saga_id and l.id = r.id and l.token = r.token`;
}
