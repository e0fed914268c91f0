/** Pages of the audit trail and of operator actions, newest first. */
import type { RecordedAction } from "../core/action.ts";
import { cursor, isCount, isInstant, isText, type Page } from "../core/cursor.ts";
import { bigint, float, instant, optional, text, uuid } from "../storage/column.ts";
import type { Dialect } from "../storage/database.ts";
import { sign, type Figure } from "../storage/read/figures.ts";
import type { Reader } from "../storage/read/reader.ts";
import { projection, type RowOf } from "../storage/table.ts";
import { listActions } from "./action-queries.ts";
import type { AuditEvent, AuditType } from "./event.ts";
import { changeSign, listNewestEvents, listNewestRequests } from "./list-queries.ts";
import { EVENT, toAction, toAuditEvent } from "./rows.ts";

interface Paged {
  readonly limit: number;
  /** The `next` of the previous page. */
  readonly after?: string | undefined;
}

const REQUEST = projection({
  seq: bigint("seq"),
  subjectId: text("subject_id"),
  type: text<AuditType>("type"),
  requestedAtMs: float("at_ms"),
  completedAtMs: optional(float("completed_ms")),
});

/** A request of a data subject, read from the audit trail. */
export interface SubjectRequest {
  readonly subjectId: string;
  readonly operation: "erase" | "rectify";
  readonly requestedAtMs: number;
  /** Undefined until the request is complete. */
  readonly completedAtMs: number | undefined;
}

const REQUEST_PLACE = cursor<[number, number]>(isInstant, isCount);

export interface RequestFilter extends Paged {
  readonly subjectId?: string | undefined;
  /** Returns only matching requests. Undefined: all. */
  readonly fits?: ((request: SubjectRequest) => boolean) | undefined;
}

/** The number of requests that one page scans, whether or not they match. */
const REQUEST_SCAN_MAX = 500;

export async function listRequests(reader: Reader, filter: RequestFilter): Promise<Page<SubjectRequest>> {
  const { subjectId, fits = () => true, limit } = filter;
  const range = { subjectId, after: REQUEST_PLACE.decode(filter.after) };
  const rows = await reader.query(listNewestRequests(reader.dialect, range, REQUEST_SCAN_MAX));
  const looked = rows.map((row) => REQUEST.read(row));
  const hits = looked.filter((one) => fits(toRequest(one)));
  const shown = hits.slice(0, limit);
  const last =
    hits.length > limit ? shown.at(-1) : looked.length === REQUEST_SCAN_MAX ? looked.at(-1) : undefined;
  return { items: shown.map(toRequest), next: last && REQUEST_PLACE.encode(last.requestedAtMs, last.seq) };
}

function toRequest({ type, subjectId, requestedAtMs, completedAtMs }: RowOf<typeof REQUEST>): SubjectRequest {
  const operation = type === "ERASURE_REQUESTED" ? "erase" : "rectify";
  return { subjectId, operation, requestedAtMs, completedAtMs };
}

/** The number of the last event. */
const EVENT_PLACE = cursor<[number]>(isCount);

export async function listNewest(
  reader: Reader,
  filter: Paged & { readonly subjectId?: string | undefined; readonly type?: string | undefined },
): Promise<Page<AuditEvent>> {
  const { subjectId, type, limit } = filter;
  const [after] = EVENT_PLACE.decode(filter.after) ?? [];
  const rows = await reader.query(listNewestEvents(reader.dialect, { subjectId, type, after }, limit + 1));
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return {
    items: rows.slice(0, limit).map(toAuditEvent),
    next: last && EVENT_PLACE.encode(EVENT.read(last).seq),
  };
}

const ACTED = projection({ atMs: instant("at"), id: uuid("id") });
const ACTION_PLACE = cursor<[number, string]>(isInstant, isText);

export interface ActionPageFilter extends Paged {
  readonly by?: string | undefined;
  readonly action?: string | undefined;
  /** The id of the action's target. */
  readonly target?: string | undefined;
}

export async function listActionPage(
  reader: Reader,
  { limit, after, ...filter }: ActionPageFilter,
): Promise<Page<RecordedAction>> {
  const range = { ...filter, after: ACTION_PLACE.decode(after), limit: limit + 1 };
  const rows = await reader.query(listActions(reader.dialect, range));
  const cut = rows.length > limit ? rows[limit - 1] : undefined;
  const last = cut && ACTED.read(cut);
  return {
    items: rows.slice(0, limit).map(toAction),
    next: last && ACTION_PLACE.encode(last.atMs, last.id),
  };
}

export function trailSign(dialect: Dialect): Figure<string> {
  return sign(changeSign(dialect));
}
