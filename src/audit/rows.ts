/** The audit trail as it is read: events, links of the chain, and what people did. */
import type { ActionOutcome, RecordedAction } from "../core/action.ts";
import { bigint, instant, int, json, optional, text, uuid } from "../storage/column.ts";
import type { Row } from "../storage/database.ts";
import { projection, table } from "../storage/table.ts";
import type { AuditEvent, AuditType, Scalar } from "./event.ts";

export const EVENT = table("audit_events", {
  seq: bigint("seq"),
  id: uuid("id"),
  type: text<AuditType>("type"),
  subjectId: text("subject_id"),
  at: instant("at"),
  payload: json<Readonly<Record<string, Scalar>>>("payload"),
});

export function toAuditEvent(row: Row): AuditEvent {
  const { id, type, subjectId, at, payload } = EVENT.read(row);
  return { id, type, subjectId, at: new Date(at), payload };
}

/** An event as the chain covers it. */
export const LINK = table("audit_events", {
  link: int("link"),
  id: uuid("id"),
  type: text("type"),
  subjectId: text("subject_id"),
  atMs: instant("at"),
  /** As it is stored, byte by byte. */
  payload: text("payload"),
  hash: text("hash"),
});

export const HEAD = table("audit_head", { link: int("link"), hash: text("hash") });

/** The head, and the time at which it was locked. */
export const LOCKED_HEAD = projection({ ...HEAD.shape, nowMs: instant("now_ms") });

const ACTION = projection({
  id: text("id"),
  at: instant("at"),
  by: text("done_by"),
  action: text("action"),
  targetKind: text("target_kind"),
  targetId: text("target_id"),
  reason: text("reason"),
  outcome: text<ActionOutcome>("outcome"),
  code: optional(text("code")),
});

export function toAction(row: Row): RecordedAction {
  const { id, at, by, action, targetKind, targetId, reason, outcome, code } = ACTION.read(row);
  return {
    id,
    at: new Date(at),
    by,
    action,
    target: { kind: targetKind, id: targetId },
    reason,
    outcome,
    code,
  };
}
