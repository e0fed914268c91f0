/**
 * One statement for everything that handled deliveries lead to, composed of the stages of two tables: the outbox settles
 * deliveries and takes new rows, `saga_state` moves runs and begins new ones.
 *
 *     marked    a delivery is settled if its claim holds and its run is as the decision found it
 *     moved     its run moves
 *     begun     new runs begin
 *     inserted  what goes out is written, some of it as claimed by this process
 *     behind    deliveries that waited for the settled ones are looked for
 *     notified  other processes are woken
 *
 * On PostgreSQL all stages see one snapshot. A run that another transaction moves after that snapshot does not move here,
 * although its delivery is settled: then the statement refuses, and nothing of it is written. On SQLite there is one writer:
 * a run that is unmoved in the first stage is so in the second.
 */
import {
  IS_CLAIMED,
  insertDeliveries,
  insertWaiting,
  type DeliveryInsert,
} from "../../outbox/deliveries/insert-queries.ts";
import { MARK, markDeliveries, selectBehind } from "../../outbox/deliveries/outcome-queries.ts";
import { bigint, instant, int, optional, text } from "../../storage/column.ts";
import type { Dialect } from "../../storage/database.ts";
import { fields } from "../../storage/fields.ts";
import { statementsOf, type Stage } from "../../storage/stages.ts";
import { raw, sql, type Sql } from "../../storage/sql.ts";
import { projection } from "../../storage/table.ts";
import type { Outcome } from "../run/outcome.ts";
import { hasBegun, insertRuns, isUnmoved, moveRuns, type RunInsert, type RunMove } from "./run-queries.ts";

/** What is written together. Deliveries and runs are in the order of their ids, so that no two statements wait in a circle. */
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
export const ANSWER = projection({
  stage: optional(text("stage")),
  id: optional(text("id")),
  token: optional(bigint("token")),
  timeMs: optional(instant("at")),
});

function answer(stage: string, id: string = "''", token: string = "0", at: Sql = raw("null")): Sql {
  return sql`${raw(`'${stage}' as stage, cast(${id} as text) as id, ${token} as token`)}, cast(${at} as float) as at`;
}

export function writeStatements(dialect: Dialect, contents: Contents, leaseMs: number): readonly Sql[] {
  const { outcomes, moves, runs, rows } = contents;
  const isCaused = outcomes.length > 0;
  const queued = outcomes.filter(({ queue }) => queue !== undefined);
  const notice = rows.some(({ isClaimed }) => !isClaimed) ? dialect.notify() : undefined;
  const stages: Stage[] = [];
  if (isCaused) stages.push(markStage(dialect, outcomes, moves.length > 0));
  if (moves.length > 0) stages.push(moveStage(dialect, moves));
  if (runs.length > 0) stages.push({ name: "begun", statement: insertRuns(dialect, runs, isCaused) });
  if (rows.length > 0) stages.push(insertStage(dialect, contents, leaseMs));
  if (queued.length > 0) {
    const statement = selectBehind(dialect, queued, answer("behind", "b.entry_id"));
    stages.push({ name: "behind", statement, expectRows: 0 });
  }
  if (notice) {
    const statement = sql`select ${answer("notified")} from (${notice}) as notice`;
    stages.push({ name: "notified", statement, expectRows: 1 });
  }
  const columns = Object.values(ANSWER.shape).map(({ name }) => name);
  return stages.length === 0 ? [] : statementsOf(dialect, stages, columns);
}

function markStage(dialect: Dialect, outcomes: readonly Outcome[], moves: boolean): Stage {
  const columns = answer("marked", "entry_id", "token");
  const statement = markDeliveries(
    dialect,
    moves ? MARK_OF_RUN : MARK,
    outcomes,
    moves ? sql`(r.run_id is null or ${isUnmoved(dialect)})` : raw("true"),
    dialect.pick({ postgres: raw(`c.entry_id, c.token${moves ? ", r.run_id" : ""}`), sqlite: columns }),
  );
  return { name: "marked", statement, expectRows: outcomes.length, answer: columns };
}

function moveStage(dialect: Dialect, moves: readonly RunMove[]): Stage {
  const expectRows = sql`(select count(*) from marked where run_id is not null)`;
  return { name: "moved", statement: moveRuns(dialect, moves, true), expectRows, otherwise: "refuse" };
}

function insertStage(dialect: Dialect, { outcomes, runs, rows }: Contents, leaseMs: number): Stage {
  const expectRows = rows.filter(({ isClaimed }) => isClaimed).length;
  if (outcomes.length + runs.length + expectRows === 0)
    return { name: "inserted", statement: insertWaiting(dialect, rows) };
  const columns = answer("inserted", "entry_id", "token", dialect.epochMs(raw("enqueued_at")));
  const statement = insertDeliveries(dialect, rows, {
    isCaused: outcomes.length > 0,
    hasBegun: hasBegun(dialect, runs.length > 0),
    leaseMs,
    returning: dialect.pick({ postgres: raw("entry_id, token, status, enqueued_at"), sqlite: columns }),
  });
  return { name: "inserted", statement, expectRows, counted: IS_CLAIMED, answer: columns };
}
