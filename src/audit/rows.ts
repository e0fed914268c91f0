/** The rows of the audit trail: events, links of the chain, and operator actions. */
import type { ActionOutcome, RecordedAction } from "../core/action.ts";
import { bigint, instant, int, json, optional, text, uuid } from "../storage/column.ts";
import type { Row } from "../storage/database.ts";
import { projection, table, type Projection, type Table } from "../storage/table.ts";
import type { ChainHead, LinkedEvent } from "./chain.ts";
import type { AuditEvent, AuditType, Scalar } from "./event.ts";

export interface EventRow {
  /** Its place in the trail. */
  readonly seq: number;
  readonly id: string;
  readonly type: AuditType;
  readonly subjectId: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly payload: Readonly<Record<string, Scalar>>;
}

export const EVENT: Table<EventRow> = table("audit_events", {
  seq: bigint("seq"),
  id: uuid("id"),
  type: text("type"),
  subjectId: text("subject_id"),
  at: instant("at"),
  payload: json<Readonly<Record<string, Scalar>>>("payload"),
});

export function toAuditEvent(row: Row): AuditEvent {
  const { id, type, subjectId, at, payload } = EVENT.read(row);
  return { id, type, subjectId, at: new Date(at), payload };
}

/** An event as the chain covers it, and its hash. */
export interface LinkRow extends LinkedEvent {
  readonly hash: string;
}

export const LINK: Table<LinkRow> = table("audit_events", {
  link: int("link"),
  id: uuid("id"),
  type: text("type"),
  subjectId: text("subject_id"),
  atMs: instant("at"),
  payload: text("payload"),
  hash: text("hash"),
});

export const HEAD: Table<ChainHead> = table("audit_head", { link: int("link"), hash: text("hash") });

/** The head, and the time at which it was locked. */
export interface LockedHead extends ChainHead {
  readonly nowMs: number;
}

export const LOCKED_HEAD: Projection<LockedHead> = projection({ ...HEAD.shape, nowMs: instant("now_ms") });

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
