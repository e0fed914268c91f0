/** The statements on bulk actions. */
import type { BulkAction, BulkKind, BulkRefusal } from "../core/bulk/action.ts";
import { bulkMachine, OPEN, type BulkState } from "../core/bulk/machine.ts";
import {
  claimStatement,
  gate,
  NEVER_GATE,
  renewStatement,
  type Claimable,
  type Held,
} from "../storage/claim.ts";
import type { Dialect } from "../storage/database.ts";
import { untilInstant } from "../storage/read/next-due.ts";
import { empty, literals, raw, sql, type Sql } from "../storage/sql.ts";
import { BULK } from "./rows.ts";

const QUEUE: Claimable = {
  table: "bulk_actions",
  id: "id",
  states: OPEN,
  classes: [{ where: raw("true") }],
};

export interface NewBulk {
  readonly id: string;
  readonly action: BulkAction;
  readonly kind: BulkKind;
  readonly request: string;
  readonly reason: string;
  readonly by: string | undefined;
  readonly total: number;
  readonly isExact: boolean;
}

/** Returns no row if the id is taken. */
export function insertBulk(dialect: Dialect, bulk: NewBulk): Sql {
  const { id, action, kind, request, reason, by = null, total, isExact } = bulk;
  const exact = raw(isExact ? "true" : "false");
  return sql`insert into ${BULK.of(dialect)}
      (id, action, kind, request, reason, done_by, total, is_exact, created_at, updated_at)
    values (${id}, ${action}, ${kind}, ${request}, ${reason}, ${by}, ${total}, ${exact}, ${dialect.now()}, ${dialect.now()})
    on conflict (id) do nothing returning id`;
}

export function selectBulk(dialect: Dialect, id: string, locked: boolean = false): Sql {
  return sql`select ${BULK.columns(dialect, "b")} from ${BULK.of(dialect)} as b where b.id = ${id}
    ${locked ? dialect.forUpdateOf("b") : empty}`;
}

/** The newest first. */
export function listBulks(
  dialect: Dialect,
  limit: number,
  after: readonly [atMs: number, id: string] | undefined,
): Sql {
  const before = after
    ? sql`where (b.created_at, b.id) < (${dialect.instantOf(after[0])}, ${after[1]})`
    : empty;
  return sql`select ${BULK.columns(dialect, "b")} from ${BULK.of(dialect)} as b ${before}
    order by b.created_at desc, b.id desc limit ${limit}`;
}

/** One that no worker has begun is over at once. */
export function stopBulk(dialect: Dialect, id: string, event: "stop" | "withdraw", note: StopNote): Sql {
  const target = bulkMachine.move("running", event);
  const ended = bulkMachine.isTerminal(target) ? dialect.now() : raw("null");
  return sql`update ${BULK.of(dialect)} set status = ${literals([target])}, stop_reason = ${note.reason},
      stopped_by = ${note.by ?? null}, updated_at = ${dialect.now()}, ended_at = ${ended}
    where id = ${id} and status in (${literals(bulkMachine.sources(event))})`;
}

export interface StopNote {
  readonly reason: string;
  readonly by?: string | undefined;
}

/** What a process cannot carry out is left to others. */
function servable(alias: string, kinds: readonly BulkKind[]): Sql {
  return sql`${raw(alias)}.kind in (${literals(kinds)})`;
}

export interface ClaimOptions {
  readonly kinds: readonly BulkKind[];
  readonly limit: number;
  readonly leaseMs: number;
  readonly except: readonly string[];
}

export function claimBulks(dialect: Dialect, { kinds, limit, leaseMs, except }: ClaimOptions): Sql {
  return claimStatement(dialect, QUEUE, {
    limit,
    leaseMs,
    except,
    where: servable("due", kinds),
    set: sql`updated_at = ${dialect.now()}`,
    returning: BULK.columns(dialect),
  });
}

export function renewBulks(dialect: Dialect, held: readonly Held[], leaseMs: number): Sql {
  return renewStatement(dialect, QUEUE, held, leaseMs, raw("id"));
}

/** Gives a claim back, so that another worker goes on at once. */
export function releaseBulk(dialect: Dialect, { id, token }: Held): Sql {
  return sql`update ${BULK.of(dialect)} set next_attempt_at = ${dialect.now()}
    where id = ${id} and token = ${token} and status in (${literals(OPEN)})`;
}

/** The milliseconds until the first bulk action may be claimed; null if there is none. */
export function untilBulkDue(dialect: Dialect, kinds: readonly BulkKind[]): Sql {
  const gated = gate(dialect, raw("due.next_attempt_at"));
  return untilInstant(
    dialect,
    sql`(select case when due.next_attempt_at is null then ${dialect.now()} else due.next_attempt_at end
      from ${BULK.of(dialect)} as due where due.status in (${literals(OPEN)}) and ${servable("due", kinds)}
        and ${gated} >= ${raw(dialect.pick(NEVER_GATE))}
      order by ${gated}, due.id limit 1)`,
  );
}

/** The next instant after now at which a lease ends, in milliseconds since the epoch; null if none does. */
export function nextBulkDue(dialect: Dialect): Sql {
  const gated = gate(dialect, raw("due.next_attempt_at"));
  return sql`(select ${dialect.epochMs(raw("due.next_attempt_at"))} from ${BULK.of(dialect)} as due
    where due.status in (${literals(OPEN)}) and ${gated} > ${dialect.now()} order by ${gated}, due.id limit 1)`;
}

/** What is counted of one page, and the page that follows. */
export interface PageCommit {
  readonly done: number;
  readonly refused: number;
  readonly refusals: readonly BulkRefusal[];
  readonly page: readonly string[];
  readonly place: string | undefined;
  /** The state that the action has unless it is to stop. */
  readonly status: BulkState;
}

/** The fence: a worker whose claim was lost counts nothing. Returns no row then, else the state. */
export function commitPage(dialect: Dialect, { id, token }: Held, page: PageCommit): Sql {
  const stopped = bulkMachine.move("stopping", "halt");
  const status = sql`case when status = 'stopping' then ${literals([stopped])} else ${literals([page.status])} end`;
  const isOver = bulkMachine.isTerminal(page.status) ? raw("true") : raw("status = 'stopping'");
  return sql`update ${BULK.of(dialect)} set done = done + ${page.done}, refused = refused + ${page.refused},
      refusals = ${JSON.stringify(page.refusals)}, page = ${JSON.stringify(page.page)}, place = ${page.place ?? null},
      updated_at = ${dialect.now()}, ended_at = case when ${isOver} then ${dialect.now()} end, status = ${status}
    where id = ${id} and token = ${token} and status in (${literals(OPEN)}) returning status`;
}

/** Removes actions that have ended long ago, the oldest first. */
export function removeEnded(dialect: Dialect, afterMs: number, limit: number): Sql {
  const name = BULK.of(dialect);
  return sql`delete from ${name} where id in (select b.id from ${name} as b where b.ended_at is not null
      and b.ended_at <= ${dialect.plusMs(dialect.now(), -afterMs)} order by b.ended_at, b.id limit ${limit}) returning id`;
}
