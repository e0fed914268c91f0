/** Inserts the rows of sagas that are started. */
import { BEGUN, RECORDED } from "../../../core/saga/machine.ts";
import { encodePlan, UNRECORDED_PLAN } from "../../../core/saga/plan.ts";
import { bigint, flag, int, text } from "../../../storage/column.ts";
import type { Dialect } from "../../../storage/database.ts";
import { fields } from "../../../storage/fields.ts";
import { laneOf } from "../../../storage/limits/lane.ts";
import { empty, literals, raw, sql, type Sql } from "../../../storage/sql.ts";
import { projection, type Projection } from "../../../storage/table.ts";
import type { NewSaga } from "../journal.ts";
import { kindOf } from "../../kinds/kind-of.ts";
import { contextOf } from "../signal-queries.ts";

const START = fields<NewSaga>({
  id: text(({ id }) => id),
  name: text(({ name }) => name, { shared: true }),
  definition: int(({ definition }) => definition, { shared: true }),
  context: text(({ input }) => contextOf(input)),
  plan: text(({ plan }) => (plan.length === 0 ? UNRECORDED_PLAN : encodePlan(plan)), { shared: true }),
  kind: text(({ name, definition, plan, limits }) => laneOf(kindOf(name, definition, plan), limits), {
    shared: true,
  }),
  owner: text(({ owner }) => owner, { shared: true }),
  token: bigint(({ token }) => token),
  closed_ms: text((saga) => String(closedMs(saga)), { shared: true }),
  run_at_ms: text(({ gate }) => (gate?.atMs === undefined ? undefined : String(gate.atMs)), {
    default: null,
  }),
  is_gated: flag(({ gate }) => gate !== undefined, { default: 0 }),
  priority: int(({ priority }) => priority, { default: 0 }),
  attributes: text(({ attributes }) => attributes && JSON.stringify(attributes), { default: null }),
  deadline_ms: text(({ deadlineMs }) => (deadlineMs === undefined ? undefined : String(deadlineMs)), {
    shared: true,
  }),
  parent_id: text(({ parent }) => parent?.id, { default: null }),
  parent_step: text(({ parent }) => parent?.step, { default: null }),
});

/** Starts of which some have limits by key. */
const LIMITED_START = fields<NewSaga>({
  ...START.shape,
  limits: text(({ limits }) => limits && JSON.stringify(limits)),
  concurrency_key: text(({ limits }) => limits?.concurrency?.key),
});

/** How long its gate is closed: for the lease of its owner, or for its delay. */
function closedMs({ owner, leaseMs, gate }: NewSaga): number {
  return owner === undefined ? (gate?.afterMs ?? 0) : leaseMs;
}

/**
 * With an owner, the saga is created RUNNING with its first act begun. Without one it is PENDING, and due when its gate opens. An
 * instant that has passed by the database's clock is now: an early one must not put a saga in front of others.
 */
export function insertSagas(dialect: Dialect, starts: readonly NewSaga[], isOptimistic: boolean): Sql {
  const now = dialect.now();
  const isOwned = raw("r.owner is not null");
  const later = dialect.pick({ postgres: raw("greatest"), sqlite: raw("max") });
  const gate = sql`case when r.run_at_ms is null then ${dialect.plusMs(now, raw("r.closed_ms"))}
    else ${later}(${now}, ${dialect.instantOf(raw("r.run_at_ms"))}) end`;
  const runAt = sql`case when r.is_gated = 1 then ${gate} end`;
  const deadline = sql`case when r.deadline_ms is null then null else ${dialect.plusMs(sql`coalesce(${runAt}, ${now})`, raw("r.deadline_ms"))} end`;
  const isLimited = starts.some(({ limits }) => limits);
  const more = isLimited
    ? { columns: raw(", limits, concurrency_key"), values: raw(", r.limits, r.concurrency_key") }
    : undefined;
  return sql`insert into ${dialect.table("saga_executions")}
      (id, name, definition, status, context, plan, kind, begun, token, owner, priority, attributes, next_attempt_at, run_at, last_attempt_at, deadline_at, created_at, updated_at, parent_id, parent_step${more?.columns ?? empty})
    select r.id, r.name, r.definition, case when ${isOwned} then ${literals([BEGUN])} else ${literals([RECORDED])} end, r.context, r.plan, r.kind,
      ${isOwned}, r.token, r.owner, r.priority, r.attributes, ${gate}, ${runAt}, ${now}, ${deadline}, ${now}, ${now}, r.parent_id, r.parent_step${more?.values ?? empty}
    from ${dialect.rows(isLimited ? LIMITED_START : START, starts)} ${isOptimistic ? empty : raw("where true on conflict (id) do nothing returning id")}`;
}

/** A saga that was created. */
export const CREATED: Projection<{ readonly id: string }> = projection({ id: text("id") });
