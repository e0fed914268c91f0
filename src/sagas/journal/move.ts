/** Moves a saga's row from outside its worker. The caller holds the lock on the row. */
import type { SagaState } from "../../core/saga/state.ts";
import { CLAIMABLE, sagaMachine, type SagaStatus } from "../../core/saga/machine.ts";
import type { Dialect } from "../../storage/database.ts";
import { literals, sql, type Sql } from "../../storage/sql.ts";

export interface OutsideMove {
  readonly id: string;
  readonly version: number;
  readonly from: SagaStatus;
  readonly state: SagaState;
  /** A worker has it and will see the new line; otherwise it becomes due at once. */
  readonly running: boolean;
}

export function moveFor(dialect: Dialect, { id, version, from, state, running }: OutsideMove): Sql {
  const to = state.status;
  if (from !== to && !sagaMachine.arrow(from, to)) throw new Error(`no arrow from ${from} to ${to}`);
  const closed = !CLAIMABLE.includes(to);
  const owner = running ? sql`owner` : sql`null`;
  const gate = closed ? sql`null` : running ? sql`next_attempt_at` : dialect.now();
  return sql`update ${dialect.table("saga_executions")}
    set status = ${to}, version = ${version}, owner = ${owner}, next_attempt_at = ${gate},
      recovery_attempts = case when ${running ? 1 : 0} = 1 then recovery_attempts else 0 end,
      error = coalesce(${failureText(state)}, error), updated_at = ${dialect.now()}
    where id = ${id} and status in (${literals([from])})`;
}

/** The `error` column: labels only, so that lists need not read logs. */
export function failureText(state: SagaState): string | null {
  const { failure, stall } = state;
  if (!failure && !stall) return null;
  return JSON.stringify({
    ...(failure && { step: failure.step, kind: failure.kind, label: failure.label }),
    ...(stall && { stall: { kind: stall.kind, step: stall.step, label: stall.label } }),
  });
}
