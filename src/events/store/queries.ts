/** The statements on events that are not hot: claims, renewals, reads. The hot ones are in settle.ts. */
import { flowMachine } from "../../core/flow/machine.ts";
import { CLAIMABLE, outboxMachine } from "../../core/outbox/machine.ts";
import { claimStatement, freshFirst, renewStatement, type Claimable } from "../../storage/claim.ts";
import type { Column, Dialect } from "../../storage/database.ts";
import { literals, raw, sql, type Sql } from "../../storage/sql.ts";
import { HELD_ROWS, OUTBOX } from "../../outbox/queries.ts";
import type { Delivery } from "../run/delivery.ts";
import { deliveryColumns, runColumns } from "./rows.ts";

export interface Known {
  /** As `handler@version`. */
  readonly deliverable: readonly string[];
  /** As `name@version`. */
  readonly routable: readonly string[];
}

/** Fresh deliveries first, then those that were tried, then events that are still to be routed. */
function deliveries(dialect: Dialect, { deliverable, routable }: Known): Claimable {
  const kept = dialect.among(sql`due.handler || '@' || due.event_version`, deliverable);
  const open = literals(CLAIMABLE);
  // What came before in the same process, to the same handler, must have ended.
  const turn = sql`(due.correlation is null or not exists (
    select 1 from ${dialect.table("outbox")} as b where b.handler = due.handler and b.correlation = due.correlation
      and b.entry_id < due.entry_id and b.status in (${open})))`;
  const tried = (rank: string): Sql =>
    sql`due.kind = 'delivery' and ${raw(freshFirst("due.attempts"))} = ${raw(rank)} and ${kept} and ${turn}`;
  const names = [...new Set(routable.map((one) => one.slice(0, one.lastIndexOf("@"))))];
  const unrouted = sql`due.event_id is not null and due.handler is null and ${dialect.among(raw("due.name"), names)}
    and ${dialect.among(sql`due.name || '@' || due.event_version`, routable)}`;
  return { ...OUTBOX, classes: [tried("0"), tried("1"), unrouted] };
}

export function claimDeliveries(
  dialect: Dialect,
  known: Known,
  limit: number,
  leaseMs: number,
  except: readonly string[] = [],
): Sql {
  return claimStatement(dialect, deliveries(dialect, known), {
    limit,
    leaseMs,
    except,
    where: raw("true"),
    set: sql`status = ${literals([outboxMachine.target("pending", "claim") as string])}, attempts = c.attempts + 1`,
    returning: deliveryColumns(dialect),
  });
}

export function renewDeliveries(dialect: Dialect, held: readonly Delivery[], leaseMs: number): Sql {
  return renewStatement(dialect, HELD_ROWS, held, leaseMs, raw("entry_id"));
}

export function selectRuns(dialect: Dialect, sagaIds: readonly string[]): Sql {
  return sql`select ${runColumns(dialect)} from ${dialect.table("saga_state")} as s
    where ${dialect.among(raw("s.saga_id"), sagaIds)}`;
}

/** The newest run of a process. */
export function selectRunOf(dialect: Dialect, sagaType: string, processId: string): Sql {
  return sql`select ${runColumns(dialect)} from ${dialect.table("saga_state")} as s
    where s.saga_type = ${sagaType} and s.process_id = ${processId} order by s.run desc limit 1`;
}

export function selectRun(dialect: Dialect, sagaId: string): Sql {
  return selectRuns(dialect, [sagaId]);
}

/** All runs of a process, the newest first. */
export function selectRunsOf(dialect: Dialect, sagaType: string, processId: string): Sql {
  return sql`select ${runColumns(dialect)} from ${dialect.table("saga_state")} as s
    where s.saga_type = ${sagaType} and s.process_id = ${processId} order by s.run desc`;
}

/** Runs whose time is up. */
export function selectExpired(dialect: Dialect, limit: number): Sql {
  return sql`select ${runColumns(dialect)} from ${dialect.table("saga_state")} as s
    where s.due_at <= ${dialect.now()} and s.status in (${literals(flowMachine.sources("turnBack"))})
    order by s.due_at, s.saga_id limit ${limit}`;
}

const TRAIL: readonly Column[] = [{ name: "row_id", type: "uuid" }];

function onTrail(dialect: Dialect, trail: readonly string[]): Sql {
  const ids = trail.map((id) => [id]);
  return sql`from ${dialect.rows(TRAIL, ids)} join ${dialect.table("outbox")} as c on c.entry_id = r.row_id`;
}

/** What is under way for a run: the delivery to the handler that is waited for. */
export function selectAwaited(dialect: Dialect, trail: readonly string[], handler: string): Sql {
  return sql`select c.entry_id, c.token, c.status,
      case when c.next_attempt_at > ${dialect.now()} then 1 else 0 end as leased
    ${onTrail(dialect, trail)} where c.handler = ${handler}
      and c.status || '' in (${literals(outboxMachine.sources("supersede"))}) order by c.entry_id desc limit 1`;
}

export function selectDelivery(dialect: Dialect, id: string): Sql {
  return sql`select ${deliveryColumns(dialect)}, status, last_error from ${dialect.table("outbox")}
    where entry_id = ${id} and event_id is not null`;
}

/** A claim that still holds. */
export function selectHeld(dialect: Dialect, { id, token }: Delivery): Sql {
  return sql`select entry_id from ${dialect.table("outbox")}
    where entry_id = ${id} and token = ${token} and status || '' in (${literals(HELD_ROWS.states)})`;
}

/** A claim that has been settled: its token is still the last one, and nobody holds it. */
export function selectSettled(dialect: Dialect, { id, token }: Delivery): Sql {
  return sql`select entry_id from ${dialect.table("outbox")}
    where entry_id = ${id} and token = ${token} and status not in (${literals(HELD_ROWS.states)})`;
}

/** A person wants an abandoned one tried again, with new tries. */
export function requeueDelivery(dialect: Dialect, id: string, note: string): Sql {
  return sql`update ${dialect.table("outbox")}
    set status = ${literals([outboxMachine.target("abandoned", "requeue") as string])}, attempts = 0,
      next_attempt_at = null, requeues = requeues + 1, notes = ${added(note)}
    where entry_id = ${id} and event_id is not null and status in (${literals(outboxMachine.sources("requeue"))})
    returning entry_id`;
}

/** A person is done with an abandoned one. */
export function supersedeDelivery(dialect: Dialect, id: string, note: string): Sql {
  return sql`update ${dialect.table("outbox")}
    set status = ${literals([outboxMachine.target("abandoned", "supersede") as string])}, notes = ${added(note)}
    where entry_id = ${id} and event_id is not null and status in (${literals(outboxMachine.sources("requeue"))})
    returning entry_id`;
}

const NOTED = { run: ["saga_state", "saga_id"], delivery: ["outbox", "entry_id"] } as const;

/** What a person did is on record: the answer to that commit may have been lost. */
export function selectNoted(dialect: Dialect, kind: keyof typeof NOTED, id: string, note: string): Sql {
  const [table, key] = NOTED[kind];
  return sql`select ${raw(key)} from ${dialect.table(table)}
    where ${raw(key)} = ${id} and replace(notes, ${note}, '') <> notes`;
}

function added(note: string): Sql {
  return sql`case when notes is null then '[' else substr(notes, 1, length(notes) - 1) || ',' end || ${note} || ']'`;
}
