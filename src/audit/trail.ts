/** Reads the audit trail, oldest first, page by page. */
import { cursor, isCount } from "../core/cursor.ts";
import { AmendsError } from "../core/errors.ts";
import { checkId } from "../core/identity.ts";
import { refuseUnknown } from "../core/options.ts";
import { persist } from "../storage/retry.ts";
import type { Database } from "../storage/database.ts";
import { AUDIT_TYPES, SUBJECT_MAX, type AuditEvent, type AuditType } from "./event.ts";
import { listEvents } from "./queries.ts";
import { EVENT, toAuditEvent } from "./rows.ts";

/** What `AuditTrail.list` returns: a filter and a page. */
export interface TrailOptions {
  /** Only events of this data subject. Default: all subjects. */
  readonly subjectId?: string;
  /** Only events of these types. Default: all types. An empty list returns no events. */
  readonly types?: readonly AuditType[];
  /** The size of a page, 1 to 1000 events. Default: 100. */
  readonly limit?: number;
  /** The `next` of the previous page. */
  readonly after?: string;
}

/** One page of the audit trail. */
export interface TrailPage {
  /** The events of this page, oldest first. */
  readonly events: readonly AuditEvent[];
  /** Pass it as `after` to get the next page; undefined on the last one. */
  readonly next: string | undefined;
}

const LIMIT_MAX = 1_000;
/** The number of the last event. */
const PLACE = cursor<[number]>(isCount);

/** Reads the audit trail that a `DatabaseAuditSink` writes. */
export class AuditTrail {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Returns one page of events, oldest first. Throws `BAD_OPTION` if an option is not valid. */
  async list(options: TrailOptions = {}): Promise<TrailPage> {
    refuseUnknown(options, ["subjectId", "types", "limit", "after"], "A page of the audit trail");
    const { subjectId, types, limit = 100 } = options;
    const [after] = PLACE.decode(options.after) ?? [0];
    if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX)
      throw new AmendsError("BAD_OPTION", `A page of the audit trail has 1 to ${LIMIT_MAX} events.`);
    if (subjectId !== undefined) checkId(subjectId, "The subject id", SUBJECT_MAX);
    const unknown = types?.find((type) => !AUDIT_TYPES.includes(type));
    if (unknown !== undefined)
      throw new AmendsError("BAD_OPTION", "`types` names an event type that does not exist.");
    if (types?.length === 0) return { events: [], next: undefined };
    const database = this.#database;
    const filter = { subjectId, types, limit, after };
    const rows = await persist(database, () => database.query(listEvents(database.dialect, filter)));
    const last = rows.length === limit ? rows.at(-1) : undefined;
    const next = last && PLACE.encode(EVENT.read(last).seq);
    return { events: rows.map(toAuditEvent), next };
  }
}
