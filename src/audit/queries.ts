/** The statements on the audit trail. */
import { float, int, text, uuid } from "../storage/column.ts";
import type { Dialect } from "../storage/database.ts";
import { fields } from "../storage/fields.ts";
import { empty, literals, raw, sql, type Sql } from "../storage/sql.ts";
import type { AuditType } from "./event.ts";
import { EVENT, HEAD, LINK, type LinkRow } from "./rows.ts";

/** An event as it is written: the payload is JSON. */
export interface NewEvent {
  readonly id: string;
  readonly type: string;
  readonly subjectId: string;
  readonly payload: string;
}

const NEW_EVENT = fields<NewEvent>({
  id: uuid((event) => event.id),
  type: text((event) => event.type),
  subject_id: text((event) => event.subjectId),
  payload: text((event) => event.payload),
});

export function insertEvents(dialect: Dialect, events: readonly NewEvent[]): Sql {
  return sql`insert into ${EVENT.of(dialect)} (${NEW_EVENT.names}, at)
    select ${NEW_EVENT.list("r")}, ${dialect.now()} from ${dialect.rows(NEW_EVENT, events)}`;
}

export function findEvent(dialect: Dialect, { id, subjectId }: NewEvent): Sql {
  return sql`select 1 from ${EVENT.of(dialect)} where subject_id = ${subjectId} and id = ${id}`;
}

const CHAINED = fields<LinkRow>({
  ...NEW_EVENT.shape,
  link: int((event) => event.link),
  hash: text((event) => event.hash),
});

const NEW_LINK = fields<LinkRow>({ ...CHAINED.shape, at_ms: float((event) => event.atMs) });

/** The instant is a parameter: the hash covers it, so the stored instant must be the hashed one. */
export function insertLinked(dialect: Dialect, links: readonly LinkRow[]): Sql {
  return sql`insert into ${EVENT.of(dialect)} (${CHAINED.names}, at)
    select ${CHAINED.list("r")}, ${dialect.instantOf(raw("r.at_ms"))} from ${dialect.rows(NEW_LINK, links)}`;
}

/** Locks the head, so that the chain has one end, and returns the database's time. */
export function lockHead(dialect: Dialect): Sql {
  return sql`select ${HEAD.columns(dialect, "h")}, ${dialect.epochMs(dialect.now())} as now_ms
    from ${HEAD.of(dialect)} as h where h.id = 1 ${dialect.forUpdateOf("h")}`;
}

export function selectHead(dialect: Dialect): Sql {
  return sql`select ${HEAD.columns(dialect)} from ${HEAD.of(dialect)} where id = 1`;
}

export function moveHead(dialect: Dialect, link: number, hash: string): Sql {
  return sql`update ${HEAD.of(dialect)} set link = ${link}, hash = ${hash} where id = 1`;
}

export interface TrailFilter {
  readonly subjectId?: string | undefined;
  readonly types?: readonly AuditType[] | undefined;
  readonly limit: number;
  /** Continues after the event with this number. */
  readonly after: number;
}

export function listEvents(dialect: Dialect, { subjectId, types, limit, after }: TrailFilter): Sql {
  return sql`select ${EVENT.columns(dialect)} from ${EVENT.of(dialect)}
    where seq > ${after} ${subjectId === undefined ? empty : sql`and subject_id = ${subjectId}`}
      ${types === undefined ? empty : sql`and type in (${literals(types)})`}
    order by seq limit ${limit}`;
}

export function listLinks(dialect: Dialect, after: number, limit: number): Sql {
  return sql`select ${LINK.columns(dialect)} from ${LINK.of(dialect)}
    where link > ${after} order by link limit ${limit}`;
}
