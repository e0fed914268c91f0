/**
 * One statement for all changes of handled deliveries, composed of stages on two tables: the outbox settles
 * deliveries and takes new rows, `saga_state` updates runs and begins new ones.
 *
 *     marked    deliveries are settled
 *     moved     their runs are updated
 *     begun     new runs begin
 *     inserted  new rows are inserted, some of them as claimed by this process
 *     behind    deliveries that waited for the settled ones are found
 *     notified  other processes are woken
 *
 * The optimistic form expects every claim to hold and every run to have the version of its decision. PostgreSQL
 * counts the settled deliveries and updated runs, and refuses the whole statement if one is missing. In the checked
 * form a delivery is settled if its run is unchanged, and everything else is written if its delivery is settled, so
 * each outcome is atomic. On PostgreSQL all stages see one snapshot: if another transaction updates a run after that
 * snapshot, the run is not updated here although its delivery is settled, and the statement refuses as well. SQLite
 * has one writer, and no optimistic form.
 */
import {
  IS_CLAIMED,
  insertDeliveries,
  insertWaiting,
  type DeliveryInsert,
} from "../../outbox/deliveries/insert-queries.ts";
import { MARK, markDeliveries, selectBehind } from "../../outbox/deliveries/outcome-queries.ts";
import { bigint, instant, int, optional, text } from "../../storage/column.ts";
import type { WriteMode } from "../../storage/write/checked-write.ts";
import type { Dialect } from "../../storage/database.ts";
import { fields } from "../../storage/fields.ts";
import { statementsOf, type Stage } from "../../storage/write/stages.ts";
import { empty, raw, sql, type Sql } from "../../storage/sql.ts";
import { projection, type Projection } from "../../storage/table.ts";
import type { Outcome } from "../run/outcome.ts";
import { heardOf } from "../subscriptions/queries.ts";
import { hasBegun, insertRuns, isUnmoved, moveRuns, type RunInsert, type RunMove } from "./run-queries.ts";

/** The changes of one commit. Deliveries and runs are in the order of their ids, which avoids deadlocks. */
export interface Contents {
  readonly outcomes: readonly Outcome[];
  readonly moves: readonly RunMove[];
  readonly runs: readonly RunInsert[];
  readonly rows: readonly DeliveryInsert[];
}

const MARK_OF_RUN = fields<Outcome>({
  ...MARK.shape,
  run_id: text(({ move }) => move?.run.sagaId),
  run_version: int(({ move }) => move?.run.version),
  run_status: text(({ move }) => move?.run.state.status),
});

/** One row of a stage. On SQLite stages that do not answer have rows as well, without a name. */
export interface StageAnswer {
  readonly stage: string | undefined;
  readonly id: string | undefined;
  readonly token: number | undefined;
  readonly timeMs: number | undefined;
}

export const ANSWER: Projection<StageAnswer> = projection({
  stage: optional(text("stage")),
  id: optional(text("id")),
  token: optional(bigint("token")),
  timeMs: optional(instant("at")),
});

function answer(stage: string, id: string = "''", token: string = "0", at: Sql = raw("null")): Sql {
  return sql`${raw(`'${stage}' as stage, cast(${id} as text) as id, ${token} as token`)}, cast(${at} as float) as at`;
}

export function writeStatements(
  dialect: Dialect,
  contents: Contents,
  leaseMs: number,
  mode: WriteMode,
): readonly Sql[] {
  const { outcomes, moves, runs, rows } = contents;
  const isCaused = mode === "checked" && outcomes.length > 0;
  const queued = outcomes.filter(({ queue }) => queue !== undefined);
  const notice = rows.length > 0 ? dialect.notify() : undefined;
  const isSure = rows.some(({ isClaimed }) => !isClaimed);
  const stages: Stage[] = [];
  if (outcomes.length > 0) stages.push(markStage(dialect, contents, mode));
  if (moves.length > 0) stages.push(moveStage(dialect, moves, mode));
  if (runs.length > 0) stages.push({ name: "begun", statement: insertRuns(dialect, runs, isCaused) });
  if (rows.length > 0) stages.push(insertStage(dialect, contents, leaseMs, mode));
  if (queued.length > 0) {
    const statement = selectBehind(dialect, queued, answer("behind", "b.entry_id"));
    stages.push({ name: "behind", statement, expectRows: 0 });
  }
  if (notice) {
    // Without a row that waits here, one may wait for a handler that only other processes know.
    const waits = sql`where exists (select 1 from inserted where not ${IS_CLAIMED})`;
    const statement = sql`select ${answer("notified")} from (${notice}) as notice ${isSure ? empty : waits}`;
    const expectRows = isSure
      ? 1
      : sql`(select case when exists (select 1 from inserted where not ${IS_CLAIMED}) then 1 else 0 end)`;
    stages.push({ name: "notified", statement, expectRows });
  }
  const columns = Object.values(ANSWER.shape).map(({ name }) => name);
  return stages.length === 0 ? [] : statementsOf(dialect, stages, columns);
}

function markStage(dialect: Dialect, { outcomes, moves }: Contents, mode: WriteMode): Stage {
  const expectRows = outcomes.length;
  if (mode === "optimistic") {
    const statement = markDeliveries(dialect, MARK, outcomes, raw("true"), raw("1"));
    return { name: "marked", statement, expectRows, otherwise: "refuse" };
  }
  const columns = answer("marked", "entry_id", "token");
  const returning = dialect.pick({ postgres: raw("c.entry_id, c.token, r.run_id"), sqlite: columns });
  const condition = moves.length > 0 ? sql`(r.run_id is null or ${isUnmoved(dialect)})` : raw("true");
  const statement = markDeliveries(dialect, MARK_OF_RUN, outcomes, condition, returning);
  return { name: "marked", statement, expectRows, answer: columns };
}

function moveStage(dialect: Dialect, moves: readonly RunMove[], mode: WriteMode): Stage {
  const settled = sql`(select count(*) from marked where run_id is not null)`;
  const expectRows = mode === "optimistic" ? moves.length : settled;
  const statement = moveRuns(dialect, moves, mode === "checked");
  return { name: "moved", statement, expectRows, otherwise: "refuse" };
}

function insertStage(
  dialect: Dialect,
  { outcomes, runs, rows }: Contents,
  leaseMs: number,
  mode: WriteMode,
): Stage {
  const expectRows = rows.filter(({ isClaimed }) => isClaimed).length;
  if (outcomes.length + runs.length + expectRows === 0)
    return { name: "inserted", statement: insertWaiting(dialect, rows, mode, heardOf(dialect, rows)) };
  const columns = answer("inserted", "entry_id", "token", dialect.epochMs(raw("enqueued_at")));
  const statement = insertDeliveries(dialect, rows, {
    mode,
    heard: heardOf(dialect, rows),
    isCaused: mode === "checked" && outcomes.length > 0,
    hasBegun: hasBegun(dialect, runs.length > 0),
    leaseMs,
    returning: dialect.pick({ postgres: raw("entry_id, token, status, enqueued_at"), sqlite: columns }),
  });
  return { name: "inserted", statement, expectRows, counted: IS_CLAIMED, answer: columns };
}
