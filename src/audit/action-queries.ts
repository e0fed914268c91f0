/** The statements on operator actions. */
import type { ActionOutcome, NewAction } from "../core/action.ts";
import type { Dialect } from "../storage/database.ts";
import { empty, raw, sql, type Sql } from "../storage/sql.ts";

/** Idempotent: the statement is repeated after a commit whose outcome is unknown. Returns no row if it was recorded before. */
export function insertAction(
  dialect: Dialect,
  id: string,
  { by, action, target, reason }: NewAction,
  outcome: ActionOutcome,
  code: string | null,
): Sql {
  return sql`insert into ${dialect.table("operator_actions")}
      (id, outcome, at, done_by, action, target_kind, target_id, reason, code)
    values (${id}, ${outcome}, ${dialect.now()}, ${by}, ${action}, ${target.kind}, ${target.id}, ${reason}, ${code})
    on conflict (id, outcome) do nothing returning id`;
}

/** The results of these actions, by their ids. One that has none yet is left out. */
export function selectResults(dialect: Dialect, ids: readonly string[]): Sql {
  return sql`select a.id, a.outcome, a.code from ${dialect.table("operator_actions")} as a
    where ${dialect.among(raw("a.id"), ids)} and a.outcome <> 'asked'`;
}

/** One row if an operator has asked for this action on this target, whatever came of it. */
export function hasAction(dialect: Dialect, action: string, { kind, id }: NewAction["target"]): Sql {
  return sql`select id from ${dialect.table("operator_actions")}
    where target_id = ${id} and outcome = 'asked' and target_kind = ${kind} and action = ${action} limit 1`;
}

export interface ActionFilter {
  readonly by?: string | undefined;
  readonly action?: string | undefined;
  readonly target?: string | undefined;
  readonly limit: number;
  /** The last action of the previous page. */
  readonly after?: readonly [atMs: number, id: string] | undefined;
}

/** Newest first, each action with its result. */
export function listActions(dialect: Dialect, { by, action, target, limit, after }: ActionFilter): Sql {
  const table = dialect.table("operator_actions");
  const before = after && sql`and (a.at, a.id) < (${dialect.instantOf(after[0])}, ${after[1]})`;
  return sql`select a.id, ${dialect.epochMs(raw("a.at"))} as at, a.done_by, a.action, a.target_kind, a.target_id,
      a.reason, coalesce(e.outcome, a.outcome) as outcome, e.code
    from ${table} as a left join ${table} as e on e.id = a.id and e.outcome <> 'asked'
    where a.outcome = 'asked' ${by === undefined ? empty : sql`and a.done_by = ${by}`}
      ${action === undefined ? empty : sql`and a.action = ${action}`}
      ${target === undefined ? empty : sql`and a.target_id = ${target}`} ${before ?? empty}
    order by a.at desc, a.id desc limit ${limit}`;
}
