/** Moves the rows of sagas: with their lines in a flush, or from outside their worker. */
import { BEGUN, CLAIMABLE, sagaMachine, type SagaStatus } from "../../core/saga/machine.ts";
import { failureLabel, failureText } from "../../core/saga/failure-text.ts";
import { failingStep, type SagaState } from "../../core/saga/state.ts";
import { bigint, flag, int, text } from "../../storage/column.ts";
import type { Dialect } from "../../storage/database.ts";
import { fields } from "../../storage/fields.ts";
import { laneWithoutLimits, pausedLane, unpausedLane } from "../../storage/limits/lane.ts";
import { empty, literals, raw, sql, type Sql } from "../../storage/sql.ts";
import type { Checkpoint } from "./journal.ts";
import { awaitsText } from "./signal-queries.ts";

const MOVE = fields<Checkpoint>({
  id: text(({ sagaId }) => sagaId),
  version: int(({ version }) => version),
  token: bigint(({ token }) => token),
  from_status: text(({ move }) => move?.from, { default: BEGUN }),
  to_status: text(({ move }) => move?.to, { default: "COMPLETED" }),
  release_ms: text(({ move }) => (move?.releaseMs === undefined ? undefined : String(move.releaseMs)), {
    default: null,
  }),
  error: text(({ move }) => move?.error, { default: null }),
  error_label: text(({ move }) => move?.errorLabel, { default: null }),
  recovered: flag(({ move }) => move?.recovered === true, { default: 0 }),
  failing: flag(({ move }) => move?.failing === true, { default: 0 }),
  awaits: text(({ move }) => (move?.awaits ? awaitsText(move.awaits.names) : undefined), { default: null }),
  seen: int(({ move }) => move?.awaits?.seen, { default: null }),
});

/** An empty text stands for no progress any more, null for progress that stays as it is. */
const PROGRESS_MOVE = fields<Checkpoint>({
  ...MOVE.shape,
  progress: text(({ move }) => (move?.progress === null ? "" : move?.progress)),
});

/**
 * Moves the rows of sagas. A saga that no worker may claim has no owner and no gate. With `written`, the update moves only
 * rows whose line is there. Without it, a writer that has lost the saga fails at the insert of its line right after. A row moves
 * only to a later version: a repeat after a lost answer must not undo what an operator did meanwhile. Each row is found by its id:
 * the empty text keeps planners from reading the index of all due sagas instead. A saga that turns back leaves the lane of its
 * limits: compensation is never held back.
 */
export function moveSagas(dialect: Dialect, moves: readonly Checkpoint[], written: boolean): Sql {
  const isWritten = sql`and exists (
    select 1 from ${dialect.table("saga_logs")} as l where l.saga_id = r.id and l.id = r.version and l.token = r.token)`;
  const closed = sql`r.to_status not in (${literals(CLAIMABLE)})`;
  // The row's own count of signals decides: a signal that was sent since the saga was read makes it due at once.
  const gate = sql`case when ${closed} then null when r.release_ms is null then c.next_attempt_at
    when c.signals > r.seen then ${dialect.now()} else ${dialect.plusMs(dialect.now(), raw("r.release_ms"))} end`;
  const isProgress = moves.some(({ move }) => move?.progress !== undefined);
  const isTurn = moves.some(({ move }) => move?.to === TURNED);
  const lane = isTurn
    ? sql`kind = case when r.to_status = ${literals([TURNED])} then ${laneWithoutLimits(dialect, raw("c.kind"))} else c.kind end,`
    : empty;
  const progress = isProgress ? sql`progress = nullif(coalesce(r.progress, c.progress), ''),` : empty;
  return sql`update ${dialect.table("saga_executions")} as c
    set ${progress} ${lane} status = r.to_status, version = r.version, next_attempt_at = ${gate}, awaits = r.awaits,
      owner = case when ${closed} or r.release_ms is not null then null else c.owner end,
      error = coalesce(r.error, c.error), error_label = r.error_label,
      failing_at = case when r.failing = 1 then coalesce(c.failing_at, ${dialect.now()}) end,
      recovery_attempts = case when r.recovered = 1 then 0 else c.recovery_attempts end, updated_at = ${dialect.now()}
    from ${dialect.rows(isProgress ? PROGRESS_MOVE : MOVE, moves)}
    where c.id = r.id and c.token = r.token and c.status || '' = r.from_status and c.version < r.version
      ${written ? isWritten : empty}`;
}

const TURNED: SagaStatus = "COMPENSATING";

/** A move by someone who is not the saga's worker and holds the lock on its row. */
export interface OutsideMove {
  readonly id: string;
  readonly version: number;
  readonly from: SagaStatus;
  readonly state: SagaState;
  /** A worker has it and will see the new line; otherwise it becomes due at once. */
  readonly running: boolean;
  /** It stays due when it was. */
  readonly keepsGate: boolean;
}

/** A saga that is paused, or no longer is, changes its lane with it. */
export function moveFor(
  dialect: Dialect,
  { id, version, from, state, running, keepsGate }: OutsideMove,
): Sql {
  const to = state.status;
  if (from !== to && !sagaMachine.arrow(from, to)) throw new Error(`no arrow from ${from} to ${to}`);
  const closed = !CLAIMABLE.includes(to);
  const owner = running ? sql`owner` : sql`null`;
  const gate = closed ? sql`null` : running || keepsGate ? sql`next_attempt_at` : dialect.now();
  const isFree = to === TURNED || state.cancel;
  const unlimited = isFree ? laneWithoutLimits(dialect, raw("kind")) : raw("kind");
  const { paused } = state;
  const lane = paused ? pausedLane(dialect, unlimited) : unpausedLane(dialect, unlimited);
  const pause = paused ? JSON.stringify({ reason: paused.reason, by: paused.by }) : null;
  return sql`update ${dialect.table("saga_executions")}
    set kind = ${lane}, paused_at = ${paused ? sql`coalesce(paused_at, ${dialect.now()})` : raw("null")}, pause = ${pause}, status = ${to}, version = ${version}, owner = ${owner}, next_attempt_at = ${gate},
      recovery_attempts = case when ${running ? 1 : 0} = 1 then recovery_attempts else 0 end,
      progress = ${sagaMachine.isTerminal(to) ? raw("null") : raw("progress")},
      failing_at = ${failingStep(state) ? raw("failing_at") : raw("null")},
      error = coalesce(${failureText(state)}, error), error_label = ${failureLabel(state)}, updated_at = ${dialect.now()}
    where id = ${id} and status in (${literals([from])})`;
}
