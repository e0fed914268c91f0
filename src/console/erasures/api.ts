/** Requests of data subjects, a subject's whole trail, and the audit trail itself. */
import { AUDIT_TYPES, type AuditEvent } from "../../audit/event.ts";
import { listNewest, type SubjectRequest } from "../../audit/list.ts";
import { listSubjectRequests, type ListedRequest } from "../../erasure/requests.ts";
import { openEntriesOf } from "../../outbox/read/list.ts";
import type { ConsoleContext } from "../context.ts";
import type { AuditEventLine, ErasureLine, SubjectTrail } from "../contract-parts.ts";
import type { Page } from "../contract.ts";
import { notFound } from "../http/answer.ts";
import { after, toPage } from "../http/page.ts";
import { limit, oneOf, text } from "../http/param.ts";
import { route, type Route } from "../http/route.ts";
import { toOutboxLine } from "../outbox/lines.ts";
import { iso } from "../sagas/lines.ts";

/** One page of a subject shows this many entries and events: the trail has all of them. */
const SHOWN_MAX = 1_000;
const REQUESTS_MAX = 500;

export function erasureRoutes(context: ConsoleContext, canRequeue: boolean): readonly Route[] {
  const { reader } = context;
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
        after: after(),
      },
      handle: async ({ query }): Promise<Page<ErasureLine>> => {
        const { q: subjectId, status, limit: max, after: place } = query;
        const nowMs = nowOf(context);
        const fits = status && ((request: SubjectRequest) => isOf(request, status, nowMs));
        const found = await listSubjectRequests(reader, { subjectId, fits, limit: max, after: place });
        return toPage(found, (request) => toErasure(request, nowMs));
      },
    }),
    route({
      method: "GET",
      path: "/api/subjects/{id}",
      access: "read",
      summary: "A subject's whole trail.",
      answers: "SubjectTrail",
      handle: async ({ id: subjectId }): Promise<SubjectTrail> => {
        const nowMs = nowOf(context);
        const requests = await listSubjectRequests(reader, { subjectId, limit: REQUESTS_MAX });
        const { items: events } = await listNewest(reader, { subjectId, limit: SHOWN_MAX });
        const entries = await openEntriesOf(reader, subjectId, SHOWN_MAX);
        if (events.length === 0 && entries.length === 0) throw notFound("subject with this id");
        return {
          subjectId,
          requests: requests.items.map((request) => toErasure(request, nowMs)),
          entries: entries.map((entry) => toOutboxLine(entry, canRequeue)),
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
      query: { subject: text(255), type: oneOf(AUDIT_TYPES), limit: limit(), after: after() },
      handle: async ({ query }): Promise<Page<AuditEventLine>> => {
        const { subject: subjectId, type, after: place, limit: max } = query;
        return toPage(await listNewest(reader, { subjectId, type, limit: max, after: place }), toEventLine);
      },
    }),
  ];
}

/** For what is shown only: nothing is decided by it. */
function nowOf({ db }: ConsoleContext): number {
  return (db.clock.virtualNowMs ?? Date.now)();
}

function toErasure(request: ListedRequest, nowMs: number): ErasureLine {
  const { subjectId, operation, requestedAtMs, completedAtMs, openEntries, abandonedEntries } = request;
  return {
    subjectId,
    operation,
    requestedAt: iso(requestedAtMs),
    completedAt: completedAtMs === undefined ? null : iso(completedAtMs),
    dueBy: iso(oneMonthAfter(requestedAtMs)),
    overdue: isOf(request, "overdue", nowMs),
    open: openEntries,
    abandoned: abandonedEntries,
  };
}

function isOf(
  { requestedAtMs, completedAtMs }: SubjectRequest,
  status: "open" | "overdue" | "completed",
  nowMs: number,
): boolean {
  const isOpen = completedAtMs === undefined;
  if (status === "overdue") return isOpen && oneMonthAfter(requestedAtMs) < nowMs;
  return isOpen === (status === "open");
}

/** The same day of the next month, or its last day if it has no such day. */
function oneMonthAfter(ms: number): number {
  const date = new Date(ms);
  const day = date.getUTCDate();
  date.setUTCDate(1);
  date.setUTCMonth(date.getUTCMonth() + 1);
  const days = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  return date.setUTCDate(Math.min(day, days));
}

function toEventLine({ at, ...event }: AuditEvent): AuditEventLine {
  return { ...event, at: at.toISOString() };
}
