/**
 * The hot statements: many sagas' starts and checkpoints in one transaction. A line of the log is inserted at the
 * version that it makes; where that version exists, the insert does nothing and the checkpoint is refused, saga by
 * saga. A claim writes such a line too, so a worker that lost its saga finds its next version taken, for ever.
 *
 * Safe to repeat after a commit whose fate is unknown: a line that is there under our own token is ours.
 */
import { CLAIMABLE, sagaMachine } from "../core/saga/machine.ts";
import { encodePlan } from "../core/saga/plan.ts";
import type { Column, Dialect, Row } from "../storage/database.ts";
import { literals, raw, sql, type Sql } from "../storage/sql.ts";
import type { Checkpoint, Emission, Move, NewSaga } from "./journal.ts";

export type Piece = { readonly start: NewSaga } | { readonly checkpoint: Checkpoint };

/** Runs statements in one transaction and returns the rows of each. */
export type Execute = (statements: readonly Sql[]) => Promise<readonly (readonly Row[])[]>;

export async function flush(
  dialect: Dialect,
  execute: Execute,
  pieces: readonly Piece[],
): Promise<readonly boolean[]> {
  const starts: NewSaga[] = [];
  const appends: Checkpoint[] = [];
  const moves: Checkpoint[] = [];
  const emissions: (readonly unknown[])[] = [];
  for (const piece of pieces) {
    if ("start" in piece) {
      starts.push(piece.start);
      continue;
    }
    const { checkpoint } = piece;
    (checkpoint.move ? moves : appends).push(checkpoint);
    for (const emission of checkpoint.emissions) emissions.push(emissionRow(checkpoint, emission));
  }
  // Rows are locked in this order, by every flush of every process.
  moves.sort((a, b) => (a.sagaId < b.sagaId ? -1 : 1));

  const statements: Sql[] = [];
  const add = (when: boolean, make: () => Sql): number => (when ? statements.push(make()) - 1 : -1);
  const started = add(starts.length > 0, () => insertSagas(dialect, starts));
  const appended = add(appends.length > 0, () => insertLines(dialect, appends));
  const fenced = add(moves.length > 0, () => insertFencedLines(dialect, moves));
  add(moves.length > 0, () => moveSagas(dialect, moves));
  add(emissions.length > 0, () => insertEmissions(dialect, emissions));
  const notice = starts.some((saga) => saga.owner === undefined) ? dialect.notify() : undefined;
  if (notice) statements.push(notice);

  const results = await execute(statements);
  const created = names(results[started], "id");
  const written = new Set([...names(results[appended], "saga_id"), ...names(results[fenced], "saga_id")]);
  const missing = pieces.filter((piece) => "checkpoint" in piece && !written.has(piece.checkpoint.sagaId));
  if (missing.length > 0) {
    const lines = missing.map((piece) => (piece as { checkpoint: Checkpoint }).checkpoint);
    for (const id of names((await execute([findOurs(dialect, lines)]))[0], "saga_id")) written.add(id);
  }
  return pieces.map((piece) =>
    "start" in piece ? created.delete(piece.start.id) : written.has(piece.checkpoint.sagaId),
  );
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
  { name: "lease_ms", type: "int" },
  { name: "deadline_ms", type: "text" },
];

/** Created with its first act begun where an owner runs it at once; PENDING and due where any worker may. */
export function insertSagas(dialect: Dialect, starts: readonly NewSaga[]): Sql {
  const rows = starts.map((saga) => [
    saga.id,
    saga.name,
    saga.definition,
    `{"input":${saga.input}}`,
    encodePlan(saga.plan),
    saga.owner ?? null,
    saga.owner === undefined ? 0 : saga.leaseMs,
    saga.deadlineMs ?? null,
  ]);
  const now = dialect.now();
  const isOwned = raw("r.owner is not null");
  const deadline = sql`case when r.deadline_ms is null then null else ${dialect.plusMs(now, raw("r.deadline_ms"))} end`;
  return sql`insert into ${dialect.table("saga_executions")}
      (id, name, definition, status, context, plan, begun, token, owner, next_attempt_at, last_attempt_at, deadline_at, created_at, updated_at)
    select r.id, r.name, r.definition, case when ${isOwned} then 'RUNNING' else 'PENDING' end, r.context, r.plan,
      ${isOwned}, case when ${isOwned} then 1 else 0 end, r.owner, ${dialect.plusMs(now, raw("r.lease_ms"))}, ${now}, ${deadline}, ${now}, ${now}
    from ${dialect.rows(START, rows)} where true
    on conflict (id) do nothing returning id`;
}

const LINE: readonly Column[] = [
  { name: "saga_id", type: "text" },
  { name: "id", type: "int" },
  { name: "token", type: "int" },
  { name: "step_name", type: "text" },
  { name: "action", type: "text" },
  { name: "status", type: "text" },
  { name: "details", type: "text" },
  { name: "next_step", type: "text" },
  { name: "next_action", type: "text" },
];

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

/** Lines that need no look at the saga's row: their version alone is the fence. */
export function insertLines(
  dialect: Dialect,
  lines: readonly Pick<Checkpoint, "sagaId" | "version" | "token" | "entry">[],
): Sql {
  return sql`insert into ${dialect.table("saga_logs")} (${raw(LINE_NAMES)}, created_at)
    select ${raw(LINE_VALUES)}, ${dialect.now()} from ${dialect.rows(LINE, lines.map(lineRow))} where true
    on conflict do nothing returning saga_id`;
}

/** Lines that come with a change of the saga's row: the row is locked first, and must be as the writer knows it. */
function insertFencedLines(dialect: Dialect, moves: readonly Checkpoint[]): Sql {
  const columns: readonly Column[] = [...LINE, { name: "from_status", type: "text" }];
  const rows = moves.map((one) => [...lineRow(one), (one.move as Move).from]);
  return sql`insert into ${dialect.table("saga_logs")} (${raw(LINE_NAMES)}, created_at)
    select ${raw(LINE_VALUES)}, ${dialect.now()} from ${dialect.rows(columns, rows)}
    join ${dialect.table("saga_executions")} as c on c.id = r.saga_id and c.token = r.token and c.status = r.from_status
    where c.status in (${literals(LEAVABLE)}) ${dialect.forUpdateOf("c")}
    on conflict do nothing returning saga_id`;
}

/** States that have an arrow out of them: the guard of every update. */
const LEAVABLE = sagaMachine.states.filter((state) => !sagaMachine.isTerminal(state));

const MOVE: readonly Column[] = [
  { name: "id", type: "text" },
  { name: "version", type: "int" },
  { name: "token", type: "int" },
  { name: "from_status", type: "text" },
  { name: "to_status", type: "text" },
  { name: "release_ms", type: "text" },
  { name: "error", type: "text" },
  { name: "recovered", type: "int" },
];

/** Moves the rows whose line was written, and no others. A saga that nobody may claim has no owner and no gate. */
function moveSagas(dialect: Dialect, moves: readonly Checkpoint[]): Sql {
  const rows = moves.map(({ sagaId, version, token, move }) => {
    const { from, to, releaseMs, error, recovered } = move as Move;
    return [sagaId, version, token, from, to, releaseMs ?? null, error, recovered ? 1 : 0];
  });
  const closed = sql`r.to_status not in (${literals(CLAIMABLE)})`;
  const gate = sql`case when ${closed} then null when r.release_ms is null then c.next_attempt_at
    else ${dialect.plusMs(dialect.now(), raw("r.release_ms"))} end`;
  return sql`update ${dialect.table("saga_executions")} as c
    set status = r.to_status, version = r.version, next_attempt_at = ${gate},
      owner = case when ${closed} or r.release_ms is not null then null else c.owner end,
      error = coalesce(r.error, c.error),
      recovery_attempts = case when r.recovered = 1 then 0 else c.recovery_attempts end, updated_at = ${dialect.now()}
    from ${dialect.rows(MOVE, rows)}
    where c.id = r.id and c.token = r.token and c.status = r.from_status and exists (
      select 1 from ${dialect.table("saga_logs")} as l where l.saga_id = r.id and l.id = r.version and l.token = r.token)`;
}

const EMISSION: readonly Column[] = [
  { name: "entry_id", type: "uuid" },
  { name: "name", type: "text" },
  { name: "saga_id", type: "text" },
  { name: "payload", type: "text" },
  { name: "version", type: "int" },
  { name: "token", type: "int" },
];

function emissionRow(
  { sagaId, version, token }: Checkpoint,
  { entryId, type, payload }: Emission,
): readonly unknown[] {
  return [entryId, type, sagaId, payload, version, token];
}

function insertEmissions(dialect: Dialect, rows: readonly (readonly unknown[])[]): Sql {
  return sql`insert into ${dialect.table("outbox")} (entry_id, kind, name, saga_id, payload, enqueued_at)
    select r.entry_id, 'event', r.name, r.saga_id, r.payload, ${dialect.now()} from ${dialect.rows(EMISSION, rows)}
    where exists (
      select 1 from ${dialect.table("saga_logs")} as l where l.saga_id = r.saga_id and l.id = r.version and l.token = r.token)
    on conflict do nothing`;
}

/** Of lines that were not inserted now: those that an earlier, unanswered commit of ours has written. */
function findOurs(dialect: Dialect, lines: readonly Checkpoint[]): Sql {
  return sql`select l.saga_id from ${dialect.rows(
    LINE.slice(0, 3),
    lines.map((one) => lineRow(one).slice(0, 3)),
  )}
    join ${dialect.table("saga_logs")} as l on l.saga_id = r.saga_id and l.id = r.id and l.token = r.token`;
}
