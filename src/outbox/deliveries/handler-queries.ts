/** The open deliveries of a registered handler, for operators. */
import { CLAIMABLE, HELD, SUPERSEDED } from "../../core/outbox/machine.ts";
import type { Dialect } from "../../storage/database.ts";
import { literals, raw, sql, type Sql } from "../../storage/sql.ts";

const IS_OPEN = sql`o.kind = 'delivery' and o.lane <> '' and o.status in (${literals(CLAIMABLE)})`;

/** The lanes of all versions of a name: `A` is the character after `@`. */
function inLanes(name: Sql): Sql {
  return sql`o.lane >= ${name} || '@' and o.lane < ${name} || 'A'`;
}

/** Rows of `o`: the open deliveries of this event under this name. */
function openUnder(dialect: Dialect, name: Sql, event: Sql): Sql {
  return sql`${dialect.table("outbox")} as o where ${IS_OPEN} and ${inLanes(name)} and o.name = ${event}`;
}

/** Events that no process has routed yet. On PostgreSQL the index of their names serves only names of its own collation. */
function openUnrouted(dialect: Dialect, given: Sql): Sql {
  const event = dialect.pick({ postgres: sql`${given} collate "default"`, sqlite: given });
  return sql`${dialect.table("outbox")} as o where o.event_id is not null and o.handler is null
    and o.status in (${literals(CLAIMABLE)}) and o.name = ${event}`;
}

/** An expression: how much waits for the handler `h`, up to a limit. A retired one is not waited for by what is not routed yet. */
export function backlogOf(dialect: Dialect, max: number): Sql {
  const [event, limit] = [raw("h.event"), raw(String(max))];
  const under = (name: string): Sql =>
    sql`select * from (select 1 from ${openUnder(dialect, raw(name), event)} limit ${limit}) as counted`;
  return sql`(select count(*) from (${under("h.recipient")} union all
      ${under("case when h.recipient <> h.handler then h.handler else '' end")} union all
      select * from (select 1 from ${openUnrouted(dialect, event)} and h.retired_at is null limit ${limit}) as counted) as listed)`;
}

/** Whether anything waits for the handler `h`. With `exists`, PostgreSQL may read all events that are not routed. */
export function hasBacklog(dialect: Dialect): Sql {
  const event = raw("h.event");
  return sql`(exists (select 1 from ${openUnder(dialect, raw("h.recipient"), event)})
    or exists (select 1 from ${openUnder(dialect, raw("h.handler"), event)})
    or (h.retired_at is null and (select 1 from ${openUnrouted(dialect, event)} limit 1) = 1))`;
}

/** Returns a row if a run of a saga waits for this handler. */
export function findAwaited(dialect: Dialect, handler: string, recipient: string): Sql {
  const under = (name: string): Sql =>
    sql`select o.entry_id from ${dialect.table("outbox")} as o
      where ${IS_OPEN} and ${inLanes(sql`${name}`)} and o.handler = ${handler} and o.saga_id is not null limit 1`;
  return sql`select * from (${under(handler)}) as a union all select * from (${under(recipient)}) as b`;
}

const RETIRED_LABEL = "HandlerRetired";

/** Supersedes open deliveries of this event that no process works on. Returns their ids. */
export function supersedeOpen(dialect: Dialect, name: string, event: string, limit: number): Sql {
  const isLeased = sql`o.status in (${literals(HELD)}) and o.next_attempt_at > ${dialect.now()}`;
  return sql`update ${dialect.table("outbox")} set status = ${literals([SUPERSEDED])}, last_error = ${literals([RETIRED_LABEL])}
    where entry_id in (select o.entry_id from ${openUnder(dialect, sql`${name}`, sql`${event}`)}
      and not (${isLeased}) limit ${limit} ${dialect.forUpdateOf("o", "skip locked")})
    returning entry_id`;
}
