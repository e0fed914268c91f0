/** The statements on the audit trail. */
import type { Column, Dialect } from "../storage/database.ts";
import { empty, literals, raw, sql, type Sql } from "../storage/sql.ts";
import type { AuditType } from "./event.ts";
import { eventColumns } from "./rows.ts";

const EVENT: readonly Column[] = [
  { name: "id", type: "uuid" },
  { name: "type", type: "text" },
  { name: "subject_id", type: "text" },
  { name: "payload", type: "text" },
];

export type EventRow = readonly [id: string, type: string, subjectId: string, payload: string];

export function insertEvents(dialect: Dialect, rows: readonly EventRow[]): Sql {
  return sql`insert into ${dialect.table("audit_events")} (id, type, subject_id, at, payload)
    select r.id, r.type, r.subject_id, ${dialect.now()}, r.payload from ${dialect.rows(EVENT, rows)}`;
}

export function findEvent(dialect: Dialect, [id, , subjectId]: EventRow): Sql {
  return sql`select 1 from ${dialect.table("audit_events")} where subject_id = ${subjectId} and id = ${id}`;
}

const LINKED: readonly Column[] = [
  ...EVENT,
  { name: "at_ms", type: "text" },
  { name: "link", type: "int" },
  { name: "hash", type: "text" },
];

export type LinkedRow = readonly [...EventRow, atMs: number, link: number, hash: string];

/** The instant is given: the hash covers it, so it must be stored as it was hashed. */
export function insertLinked(dialect: Dialect, rows: readonly LinkedRow[]): Sql {
  return sql`insert into ${dialect.table("audit_events")} (id, type, subject_id, at, payload, link, hash)
    select r.id, r.type, r.subject_id, ${dialect.instantOf(raw("r.at_ms"))}, r.payload, r.link, r.hash
    from ${dialect.rows(LINKED, rows)}`;
}

/** Locks the head, so that the chain has one end, and tells the time. */
export function lockHead(dialect: Dialect): Sql {
  return sql`select h.link, h.hash, ${dialect.epochMs(dialect.now())} as now_ms
    from ${dialect.table("audit_head")} as h where h.id = 1 ${dialect.forUpdateOf("h")}`;
}

export function selectHead(dialect: Dialect): Sql {
  return sql`select link, hash from ${dialect.table("audit_head")} where id = 1`;
}

export function moveHead(dialect: Dialect, link: number, hash: string): Sql {
  return sql`update ${dialect.table("audit_head")} set link = ${link}, hash = ${hash} where id = 1`;
}

export interface TrailFilter {
  readonly subjectId?: string | undefined;
  readonly types?: readonly AuditType[] | undefined;
  readonly limit: number;
  /** Goes on after the event with this number. */
  readonly after: number;
}

export function listEvents(dialect: Dialect, { subjectId, types, limit, after }: TrailFilter): Sql {
  return sql`select ${eventColumns(dialect)} from ${dialect.table("audit_events")}
    where seq > ${after} ${subjectId === undefined ? empty : sql`and subject_id = ${subjectId}`}
      ${types === undefined ? empty : sql`and type in (${literals(types)})`}
    order by seq limit ${limit}`;
}

export function listLinks(dialect: Dialect, after: number, limit: number): Sql {
  return sql`select ${eventColumns(dialect)} from ${dialect.table("audit_events")}
    where link > ${after} order by link limit ${limit}`;
}
