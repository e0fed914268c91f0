/** The statements on sagas that belong together: children and their parents, sagas and those that take them back. */
import { CLAIMABLE, OPEN, sagaMachine, type SagaStatus } from "../../core/saga/machine.ts";
import { endArrivesAs } from "../../core/saga/steps/child.ts";
import { optional, text } from "../../storage/column.ts";
import type { Dialect } from "../../storage/database.ts";
import { unpausedLane } from "../../storage/limits/lane.ts";
import { literals, sql, type Sql } from "../../storage/sql.ts";
import { projection, type Projection } from "../../storage/table.ts";
import { OPERATOR_TOKEN, type NewReversal, type Parent } from "./journal.ts";

const sagas = (dialect: Dialect): Sql => dialect.table("saga_executions");

export function selectChildId(dialect: Dialect, { id, step }: Parent): Sql {
  return sql`select id from ${sagas(dialect)} where parent_id = ${id} and parent_step = ${step}`;
}

export function selectReversalId(dialect: Dialect, id: string): Sql {
  return sql`select id from ${sagas(dialect)} where reverses = ${id}`;
}

/** The id of a saga that was found or made. */
export const FOUND: Projection<{ readonly id: string }> = projection({ id: text("id") });

/** Children and reversal of one saga. */
export function selectRelatives(dialect: Dialect, id: string): Sql {
  return sql`select id, status, parent_step, null as reverses from ${sagas(dialect)} where parent_id = ${id}
    union all select id, status, null, reverses from ${sagas(dialect)} where reverses = ${id}`;
}

interface RelativeRow {
  readonly id: string;
  readonly status: SagaStatus;
  readonly step: string | undefined;
  readonly reverses: string | undefined;
}

export const RELATIVE: Projection<RelativeRow> = projection({
  id: text("id"),
  status: text<SagaStatus>("status"),
  step: optional(text("parent_step")),
  reverses: optional(text("reverses")),
});

/**
 * The row of a reversal: what a worker needs to run it is what it needed to run the saga that is taken back. One that has nothing
 * to undo has ended, and is never due.
 */
export function insertReversal(
  dialect: Dialect,
  { id, parent }: NewReversal,
  as: string,
  status: SagaStatus,
): Sql {
  const now = dialect.now();
  const gate = CLAIMABLE.includes(status) ? now : sql`null`;
  return sql`insert into ${sagas(dialect)} (id, name, definition, status, context, plan, kind, begun, version, next_attempt_at,
      created_at, updated_at, parent_id, parent_step, reverses)
    select ${as}, o.name, o.definition, ${status}, o.context, o.plan, ${unpausedLane(dialect, sql`o.kind`)}, o.begun,
      (select coalesce(max(l.id), 1) from ${dialect.table("saga_logs")} as l where l.saga_id = o.id) + 1, ${gate},
      ${now}, ${now}, ${parent?.id ?? null}, ${parent?.step ?? null}, o.id
    from ${sagas(dialect)} as o where o.id = ${id} on conflict do nothing returning id`;
}

/** The lines of the saga that is taken back, as no worker's: the reversal can be read when that saga is gone. */
export function copyLines(dialect: Dialect, from: string, to: string): Sql {
  return sql`insert into ${dialect.table("saga_logs")}
      (saga_id, id, token, step_name, action, status, details, next_step, next_action, created_at)
    select ${to}, l.id, ${OPERATOR_TOKEN}, l.step_name, l.action, l.status, l.details, l.next_step, l.next_action, ${dialect.now()}
    from ${dialect.table("saga_logs")} as l where l.saga_id = ${from}`;
}

/** A reversal that was asked for before is waited for by this saga, too. */
export function adoptReversal(dialect: Dialect, reversal: string, { id, step }: Parent): Sql {
  return sql`update ${sagas(dialect)} set parent_id = ${id}, parent_step = ${step}
    where id = ${reversal} and parent_id is null and status in (${literals(OPEN)})`;
}

/**
 * Sends the end of a saga to the one that waits for it, as a signal: safe to repeat. It says no more than that the saga has ended;
 * how, its log tells.
 */
export function tellParent(dialect: Dialect, id: string, parentId: string): readonly Sql[] {
  const name = endArrivesAs(id);
  const now = dialect.now();
  const signals = dialect.table("saga_signals");
  const hasEnded = sql`exists (select 1 from ${sagas(dialect)} as c where c.id = ${id} and c.status in (${literals(sagaMachine.terminal)}))`;
  return [
    sql`insert into ${signals} (saga_id, number, name, dedupe_id, payload, created_at)
      select p.id, p.signals + 1, ${name}, ${id}, null, ${now} from ${sagas(dialect)} as p
      where p.id = ${parentId} and p.status in (${literals(OPEN)}) and ${hasEnded}
        and not exists (select 1 from ${signals} as s where s.saga_id = p.id and s.name = ${name}) ${dialect.forUpdateOf("p")}`,
    sql`update ${sagas(dialect)} set signals = signals + 1,
        next_attempt_at = case when owner is null and awaits = ${name} and status in (${literals(CLAIMABLE)}) then ${now} else next_attempt_at end
      where id = ${parentId} and status in (${literals(OPEN)})
        and exists (select 1 from ${signals} as s where s.saga_id = ${parentId} and s.number = signals + 1 and s.name = ${name})`,
  ];
}

/**
 * The condition that no open saga waits for the end of this one, whose alias is `c`: how it ended is read from its log. A scalar
 * subquery is looked up by its key for each row; PostgreSQL would answer `not exists` from a list of all sagas.
 */
export function isAwaitedByNone(dialect: Dialect): Sql {
  return sql`(c.parent_id is null or coalesce((select p.status from ${sagas(dialect)} as p where p.id = c.parent_id), ${literals(["COMPLETED"])}) in (${literals(sagaMachine.terminal)}))`;
}
