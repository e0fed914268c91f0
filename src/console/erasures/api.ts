/** Requests of data subjects, a subject's whole trail, and the audit trail itself. */
import { AUDIT_TYPES } from "../../audit/event.ts";
import { toAuditEvent } from "../../audit/rows.ts";
import type { Row } from "../../storage/database.ts";
import { notFound } from "../http/answer.ts";
import type { Page } from "../contract.ts";
import type { AuditEventLine, ErasureLine, SubjectTrail } from "../contract-parts.ts";
import { cursor, writeCursor } from "../http/cursor.ts";
import { listNewestEvents, listRequests } from "./queries.ts";
import type { ConsoleContext } from "../context.ts";
import { toOutboxLine } from "../outbox/lines.ts";
import { listOpenOf } from "../outbox/queries.ts";
import { integer, limit, oneOf, text } from "../http/param.ts";
import { route, type Route } from "../http/route.ts";
import { iso } from "../sagas/lines.ts";

/** So many requests are looked at for one page, of whichever fit what was asked for. */
const LOOKED_MAX = 500;
/** What one page of a subject shows: whoever has more has it in the trail. */
const SHOWN_MAX = 1_000;

export function erasureRoutes(context: ConsoleContext, canRequeue: boolean): readonly Route[] {
  const { db } = context;
  return [
    route({
      method: "GET",
      path: "/api/erasures",
      access: "read",
      summary: "Requests of data subjects, newest first.",
      answers: "Page<ErasureLine>",
      query: {
        q: text(255),
        status: oneOf(["open", "overdue", "completed"]),
        limit: limit(),
        after: cursor(/^\d{1,15}$/),
      },
      handle: async ({ query }): Promise<Page<ErasureLine>> => {
        const { q: subjectId, status, limit: max, after } = query;
        const filter = {
          subjectId,
          beforeMs: undefined,
          after: after && { atMs: after.atMs, seq: Number(after.id) },
        };
        const nowMs = nowOf(context);
        const rows = await context.query(listRequests(db.dialect, filter, LOOKED_MAX));
        const fits = rows.filter((row) => status === undefined || isOf(toErasure(row, nowMs), status));
        const shown = fits.slice(0, max);
        const last = fits.length > max ? shown.at(-1) : rows.length === LOOKED_MAX ? rows.at(-1) : undefined;
        return {
          items: shown.map((row) => toErasure(row, nowMs)),
          next: last ? writeCursor({ atMs: Number(last["at_ms"]), id: String(last["seq"]) }) : null,
        };
      },
    }),
    route({
      method: "GET",
      path: "/api/subjects/{id}",
      access: "read",
      summary: "A subject's whole trail.",
      answers: "SubjectTrail",
      handle: async ({ id }): Promise<SubjectTrail> => {
        const { dialect } = db;
        const nowMs = nowOf(context);
        const filter = { subjectId: id, beforeMs: undefined, after: undefined };
        const requests = await context.query(listRequests(dialect, filter, LOOKED_MAX));
        const events = await context.query(
          listNewestEvents(dialect, { subjectId: id, type: undefined, after: undefined }, SHOWN_MAX),
        );
        const entries = await context.query(listOpenOf(dialect, id, SHOWN_MAX));
        if (events.length === 0 && entries.length === 0) throw notFound("subject with this id");
        return {
          subjectId: id,
          requests: requests.map((row) => toErasure(row, nowMs)),
          entries: entries.map((row) => toOutboxLine(row, canRequeue)),
          events: events.map(toEventLine).toReversed(),
        };
      },
    }),
    route({
      method: "GET",
      path: "/api/audit/events",
      access: "read",
      summary: "The audit trail of data subjects, newest first.",
      answers: "Page<AuditEventLine>",
      query: {
        subject: text(255),
        type: oneOf(AUDIT_TYPES),
        limit: limit(),
        after: integer(0, Number.MAX_SAFE_INTEGER),
      },
      handle: async ({ query }): Promise<Page<AuditEventLine>> => {
        const { subject: subjectId, type, after, limit: max } = query;
        const rows = await context.query(listNewestEvents(db.dialect, { subjectId, type, after }, max + 1));
        const last = rows.length > max ? rows[max - 1] : undefined;
        return { items: rows.slice(0, max).map(toEventLine), next: last ? String(last["seq"]) : null };
      },
    }),
  ];
}

/** Only for what is shown: nothing is decided by it. */
function nowOf({ db }: ConsoleContext): number {
  return (db.clock.virtualNowMs ?? Date.now)();
}

function toErasure(row: Row, nowMs: number): ErasureLine {
  const atMs = Number(row["at_ms"]);
  const completedMs = row["completed_ms"] === null ? undefined : Number(row["completed_ms"]);
  const dueMs = oneMonthAfter(atMs);
  return {
    subjectId: row["subject_id"] as string,
    operation: row["type"] === "ERASURE_REQUESTED" ? "erase" : "rectify",
    requestedAt: iso(atMs),
    completedAt: completedMs === undefined ? null : iso(completedMs),
    dueBy: iso(dueMs),
    overdue: completedMs === undefined && dueMs < nowMs,
    open: Number(row["open"]),
    abandoned: Number(row["abandoned"]),
  };
}

function isOf({ completedAt, overdue }: ErasureLine, status: "open" | "overdue" | "completed"): boolean {
  if (status === "overdue") return overdue;
  return (completedAt === null) === (status === "open");
}

/** The same day of the next month, or its last day where it has none such. */
function oneMonthAfter(ms: number): number {
  const date = new Date(ms);
  const day = date.getUTCDate();
  date.setUTCDate(1);
  date.setUTCMonth(date.getUTCMonth() + 1);
  const days = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  return date.setUTCDate(Math.min(day, days));
}

function toEventLine(row: Row): AuditEventLine {
  const { at, ...event } = toAuditEvent(row);
  return { ...event, at: at.toISOString() };
}
