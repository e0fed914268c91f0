/** The only place that sees what the drivers return for audit events. */
import type { Dialect, Row } from "../storage/database.ts";
import { raw, sql, type Sql } from "../storage/sql.ts";
import type { LinkedEvent } from "./chain.ts";
import type { AuditEvent, AuditType, Scalar } from "./event.ts";

export function eventColumns(dialect: Dialect): Sql {
  return sql`seq, id, type, subject_id, payload, link, hash, ${dialect.epochMs(raw("at"))} as at_ms`;
}

export function toAuditEvent(row: Row): AuditEvent {
  return {
    id: row["id"] as string,
    type: row["type"] as AuditType,
    subjectId: row["subject_id"] as string,
    at: new Date(Number(row["at_ms"])),
    payload: JSON.parse(row["payload"] as string) as Record<string, Scalar>,
  };
}

export function toLinked(row: Row): LinkedEvent & { readonly hash: string } {
  return {
    link: Number(row["link"]),
    id: row["id"] as string,
    type: row["type"] as string,
    subjectId: row["subject_id"] as string,
    atMs: Number(row["at_ms"]),
    payload: row["payload"] as string,
    hash: row["hash"] as string,
  };
}
