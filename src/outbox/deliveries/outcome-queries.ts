/**
 * The stages that settle deliveries. Follow-up rows of an outcome, in any table, are written only if its delivery
 * is settled: PostgreSQL checks the stage `marked`, SQLite the table.
 */
import { CLAIMABLE, HELD, outboxMachine, settled, SUPERSEDED } from "../../core/outbox/machine.ts";
import { bigint, flag, float, text, uuid, type Field } from "../../storage/column.ts";
import type { Dialect } from "../../storage/database.ts";
import { fields, type Fields } from "../../storage/fields.ts";
import { literals, raw, sql, type Sql } from "../../storage/sql.ts";
import { idRows } from "../queries.ts";
import type { DeliveryOutcome } from "./row.ts";

/** To be spread into a larger declaration: a condition may need further fields. */
export const MARK: Fields<DeliveryOutcome> = fields<DeliveryOutcome>({
  row_id: uuid(({ delivery }) => delivery.id),
  row_token: bigint(({ delivery }) => delivery.token),
  to_status: text(({ to }) => to),
  wait_ms: float(({ waitMs }) => waitMs, { default: null }),
  error: text(({ error }) => error, { default: null }),
  to_lane: text(({ lane }) => lane, { default: null }),
  answer: text(({ answer }) => answer, { default: null }),
  uncounted: flag(({ uncounted }) => uncounted === true, { default: 0 }),
});

/** A valid claim may be settled. An unclaimed delivery may be superseded, if no claim came in between. */
const HOLDS = sql`c.entry_id = r.row_id and c.token = r.row_token and (c.status || '' in (${literals(HELD)})
  or (r.to_status = ${literals([SUPERSEDED])} and c.status || '' in (${literals(outboxMachine.sources("supersede"))})))`;

/** Settles valid claims for which the condition over `r` holds. */
export function markDeliveries<Outcome extends DeliveryOutcome>(
  dialect: Dialect,
  given: Fields<Outcome>,
  outcomes: readonly Outcome[],
  condition: Sql,
  returning: Sql,
): Sql {
  const wait = dialect.plusMs(dialect.now(), raw("r.wait_ms"));
  return sql`update ${dialect.table("outbox")} as c
    set status = r.to_status, last_error = coalesce(r.error, c.last_error), attempts = c.attempts - r.uncounted,
      lane = coalesce(r.to_lane, c.lane), answer = coalesce(r.answer, c.answer),
      next_attempt_at = case when r.wait_ms is null then null else ${wait} end
    from ${dialect.rows(given, outcomes)} where ${HOLDS} and ${condition} returning ${returning}`;
}

/** Of the rows that were sent for a run: those to these handlers that wait for their next try are due now. */
export function hastenDeliveries(
  dialect: Dialect,
  trail: readonly string[],
  handlers: readonly string[],
): Sql {
  const waiting = literals([settled("fail"), settled("park")]);
  return sql`update ${dialect.table("outbox")} set next_attempt_at = ${dialect.now()}
    where entry_id in (select r.row_id from ${idRows(dialect, trail)}) and status || '' in (${waiting})
      and ${dialect.among(raw("handler"), handlers)} and next_attempt_at > ${dialect.now()}`;
}

/** The settled delivery that a row depends on. Undefined: the row is always written. */
export interface Caused {
  readonly cause: DeliveryOutcome | undefined;
}

const SUCCEEDED = settled("succeed");
const CAUSE: Readonly<Record<string, Field<Caused>>> = {
  cause_id: uuid(({ cause }) => cause?.delivery.id),
  cause_token: bigint(({ cause }) => cause?.delivery.token),
  cause_status: text(({ cause }) => cause?.to ?? SUCCEEDED, { default: SUCCEEDED }),
};

/** The fields without and with the cause: a statement that settles nothing does not send it. */
export type CausedFields<From> = readonly [uncaused: Fields<From>, caused: Fields<From>];

export function causedFields<From extends Caused>(
  shape: Readonly<Record<string, Field<From>>>,
): CausedFields<From> {
  return [fields<From>(shape), fields<From>({ ...shape, ...CAUSE })];
}

/** Objects as a relation `r`, and the condition that their cause is settled. */
export function causedRows<From extends Caused>(
  dialect: Dialect,
  [uncaused, caused]: CausedFields<From>,
  from: readonly From[],
  isCaused: boolean,
): { readonly relation: Sql; readonly condition: Sql } {
  if (!isCaused) return { relation: dialect.rows(uncaused, from), condition: raw("true") };
  const condition = dialect.pick({
    // Next to an "or", this form lets PostgreSQL use a hash lookup instead of a loop over all claims.
    postgres: raw(
      "(r.cause_id is null or (r.cause_id, r.cause_token) in (select entry_id, token from marked))",
    ),
    sqlite: sql`(r.cause_id is null or exists (select 1 from ${dialect.table("outbox")} as c
      where c.entry_id = r.cause_id and c.token = r.cause_token and c.status = r.cause_status))`,
  });
  return { relation: dialect.rows(caused, from), condition };
}

/** The claims that an earlier commit with a lost answer has settled. */
export function findSettled(dialect: Dialect, outcomes: readonly DeliveryOutcome[]): Sql {
  return sql`select c.entry_id, c.token from ${dialect.rows(MARK, outcomes)}
    join ${dialect.table("outbox")} as c on c.entry_id = r.row_id and c.token = r.row_token and c.status = r.to_status`;
}

const QUEUED = fields<DeliveryOutcome>({
  row_id: uuid(({ delivery }) => delivery.id),
  handler: text(({ queue }) => queue?.handler),
  correlation: text(({ queue }) => queue?.correlation),
});

/** Returns one row if a delivery waits behind one of these. */
export function selectBehind(dialect: Dialect, queued: readonly DeliveryOutcome[], columns: Sql): Sql {
  return sql`select ${columns} from ${dialect.rows(QUEUED, queued)}
    join ${dialect.table("outbox")} as b on b.handler = r.handler and b.correlation = r.correlation
      and b.entry_id <> r.row_id and b.status in (${literals(CLAIMABLE)}) limit 1`;
}
