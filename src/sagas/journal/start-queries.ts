/** Inserts the rows of sagas that are started. */
import { BEGUN, RECORDED } from "../../core/saga/machine.ts";
import { encodePlan, UNRECORDED_PLAN } from "../../core/saga/plan.ts";
import { bigint, int, text } from "../../storage/column.ts";
import type { Dialect } from "../../storage/database.ts";
import { fields } from "../../storage/fields.ts";
import { empty, literals, raw, sql, type Sql } from "../../storage/sql.ts";
import { projection, type Projection } from "../../storage/table.ts";
import type { NewSaga } from "./journal.ts";
import { kindOf } from "../kinds/kind-of.ts";
import { contextOf } from "./signal-queries.ts";

const START = fields<NewSaga>({
  id: text(({ id }) => id),
  name: text(({ name }) => name, { shared: true }),
  definition: int(({ definition }) => definition, { shared: true }),
  context: text(({ input }) => contextOf(input)),
  plan: text(({ plan }) => (plan.length === 0 ? UNRECORDED_PLAN : encodePlan(plan)), { shared: true }),
  kind: text(({ name, definition, plan }) => kindOf(name, definition, plan), { shared: true }),
  owner: text(({ owner }) => owner, { shared: true }),
  token: bigint(({ token }) => token),
  lease_ms: text(({ owner, leaseMs }) => String(owner === undefined ? 0 : leaseMs), { shared: true }),
  deadline_ms: text(({ deadlineMs }) => (deadlineMs === undefined ? undefined : String(deadlineMs)), {
    shared: true,
  }),
});

/** With an owner, the saga is created RUNNING with its first act begun. Without one it is PENDING and due. */
export function insertSagas(dialect: Dialect, starts: readonly NewSaga[], isOptimistic: boolean): Sql {
  const now = dialect.now();
  const isOwned = raw("r.owner is not null");
  const deadline = sql`case when r.deadline_ms is null then null else ${dialect.plusMs(now, raw("r.deadline_ms"))} end`;
  return sql`insert into ${dialect.table("saga_executions")}
      (id, name, definition, status, context, plan, kind, begun, token, owner, next_attempt_at, last_attempt_at, deadline_at, created_at, updated_at)
    select r.id, r.name, r.definition, case when ${isOwned} then ${literals([BEGUN])} else ${literals([RECORDED])} end, r.context, r.plan, r.kind,
      ${isOwned}, r.token, r.owner, ${dialect.plusMs(now, raw("r.lease_ms"))}, ${now}, ${deadline}, ${now}, ${now}
    from ${dialect.rows(START, starts)} ${isOptimistic ? empty : raw("where true on conflict (id) do nothing returning id")}`;
}

/** A saga that was created. */
export const CREATED: Projection<{ readonly id: string }> = projection({ id: text("id") });
