/** The statements on Amends' table of subjects, and calendar arithmetic. */
import type { Span } from "../core/erasure/period.ts";
import { erasuresWaitingSince, hasOpenEntry } from "../outbox/settle-queries.ts";
import { flag, instant, int, text } from "../storage/column.ts";
import type { Dialect } from "../storage/database.ts";
import { fields } from "../storage/fields.ts";
import type { Selection } from "../storage/read/selection.ts";
import { empty, raw, sql, type Sql } from "../storage/sql.ts";
import { projection, type Projection } from "../storage/table.ts";

/** Shifts an instant by a period of the calendar: a month after January 31 is the last day of February. */
export function shifted(dialect: Dialect, at: Sql, { months, ms }: Span, sign: "+" | "-"): Sql {
  if (months === 0) return sql`(${dialect.plusMs(at, sign === "+" ? ms : -ms)})`;
  const count = raw(String(months));
  const calendar = raw(`'${sign}${months} months'`);
  return dialect.pick({
    postgres: sql`((${at} at time zone 'UTC' ${raw(sign)} make_interval(months => ${count})) at time zone 'UTC')`,
    sqlite: sql`cast(unixepoch((${at}) / 1000.0, 'unixepoch', ${calendar}, 'floor', 'subsec') * 1000 as integer)`,
  });
}

/** The subject's counters at the time of a request. */
export interface BegunRequest {
  /** The number of the request among the subject's requests of its kind. */
  readonly generation: number;
  /** The number of the subject's erasures, this one included. */
  readonly erasures: number;
}

export const BEGUN: Projection<BegunRequest> = projection({
  generation: int("generation"),
  erasures: int("erasures"),
});

/** Counts the erasure and locks the subject's row, so that other requests of this subject wait for the commit. */
export function beginErasure(dialect: Dialect, subjectId: string): Sql {
  const { now, mark } = words(dialect);
  return sql`insert into ${dialect.table("subjects")} as s (subject_id, erasures, erased_at, clean_up)
    values (${subjectId}, 1, ${now}, ${mark})
    on conflict (subject_id) do update set erasures = s.erasures + 1, erased_at = ${now}, clean_up = ${mark},
      failing_since = null, last_error = null, retained_until = null
    returning erasures as generation, erasures`;
}

/** The same for a rectification. Returns whether the subject was erased before. */
export function beginRectification(dialect: Dialect, subjectId: string): Sql {
  const { mark } = words(dialect);
  return sql`insert into ${dialect.table("subjects")} as s (subject_id, rectifications, clean_up)
    values (${subjectId}, 1, ${mark})
    on conflict (subject_id) do update set rectifications = s.rectifications + 1, clean_up = ${mark}
    returning rectifications as generation, erasures`;
}

export function keepUntil(dialect: Dialect, subjectId: string, untilMs: number): Sql {
  return sql`update ${dialect.table("subjects")} set retained_until = ${dialect.instantOf(sql`${untilMs}`)} where subject_id = ${subjectId}`;
}

/**
 * Records a failed request. A failing erasure counts as overdue from its first failure until one succeeds. The
 * note's id detects a note that was written by a commit whose answer was lost.
 */
export function noteFailure(dialect: Dialect, noteId: string, { subjectId, label, isErasure }: Failure): Sql {
  const { now } = words(dialect);
  const [since, error] = isErasure ? [now, sql`${label}`] : [raw("null"), raw("null")];
  const again = isErasure
    ? sql`failing_since = coalesce(s.failing_since, ${now}), last_error = ${label}, `
    : empty;
  return sql`insert into ${dialect.table("subjects")} as s (subject_id, failing_since, last_error, last_note)
    values (${subjectId}, ${since}, ${error}, ${noteId})
    on conflict (subject_id) do update set ${again}last_note = ${noteId}`;
}

export function findNote(dialect: Dialect, noteId: string, subjectId: string): Sql {
  return sql`select 1 as found from ${dialect.table("subjects")} where subject_id = ${subjectId} and last_note = ${noteId}`;
}

export interface Failure {
  readonly subjectId: string;
  readonly label: string;
  /** Only a failed erasure can become overdue; the caller repeats a failed rectification. */
  readonly isErasure: boolean;
}

export interface UncleanSubject {
  readonly subjectId: string;
  readonly erasures: number;
  readonly rectifications: number;
  /** True if calls to other systems are still open. */
  readonly waits: boolean;
}

export const UNCLEAN: Projection<UncleanSubject> = projection({
  subjectId: text("subject_id"),
  erasures: int("erasures"),
  rectifications: int("rectifications"),
  waits: flag("waits"),
});

/** Requests that need a clean-up: stage 2 at once, stage 1 when no entry of the subject is open. */
export function listUnclean(dialect: Dialect, limit: number): Sql {
  const open = hasOpenEntry(dialect, raw("s.subject_id"));
  return sql`select s.subject_id, s.erasures, s.rectifications, case when ${open} then 1 else 0 end as waits
    from ${dialect.table("subjects")} as s where s.clean_up > 0 and (s.clean_up = 2 or not ${open})
    order by s.subject_id limit ${limit}`;
}

/** 1 if a request needs a clean-up, also one that waits for the end of calls. */
export function anyUnclean(dialect: Dialect): Sql {
  return sql`(select count(*) from (select 1 from ${dialect.table("subjects")} as s where s.clean_up > 0 limit 1) as marked)`;
}

/** A subject with open calls gets a second clean-up when the calls have ended. */
const CLEANED = fields<UncleanSubject>({
  row_id: text((subject) => subject.subjectId),
  row_erasures: int((subject) => subject.erasures),
  row_rectifications: int((subject) => subject.rectifications),
  row_stage: int((subject) => (subject.waits ? 1 : 0)),
});

/** Only for the listed counters: a newer request needs another clean-up. */
export function markClean(dialect: Dialect, subjects: readonly UncleanSubject[]): Sql {
  return sql`update ${dialect.table("subjects")} as s set clean_up = r.row_stage
    from ${dialect.rows(CLEANED, subjects)}
    where s.subject_id = r.row_id and s.erasures = r.row_erasures and s.rectifications = r.row_rectifications`;
}

/** SQLite: checkpoints the write-ahead file and truncates it. */
export function truncateLog(): Sql {
  return raw("pragma wal_checkpoint(truncate)");
}

/** `busy`: another connection still reads the old data. */
export const TRUNCATED: Projection<{ readonly busy: boolean }> = projection({ busy: flag("busy") });

/** SQLite: rebuilds the file. */
export function rebuildFile(): Sql {
  return raw("vacuum");
}

export function findVirtualTable(): Sql {
  return raw(
    "select 1 as found from sqlite_schema where type = 'table' and sql like 'create virtual table%' limit 1",
  );
}

export interface OverdueSubject {
  readonly subjectId: string;
  readonly sinceMs: number;
  readonly dueMs: number;
  /** The local phase of the erasure failed. */
  readonly failing: boolean;
}

export const OVERDUE: Projection<OverdueSubject> = projection({
  subjectId: text("subject_id"),
  sinceMs: instant("since_ms"),
  dueMs: instant("due_ms"),
  failing: flag("failing"),
});

/** Subjects with an incomplete erasure that is past its deadline, in the order of the deadlines. */
export function overdueRows(dialect: Dialect, deadline: Span): Selection {
  const latest = shifted(dialect, dialect.now(), deadline, "-");
  return {
    from: sql`(select subject_id, min(since) as since, ${shifted(dialect, sql`min(since)`, deadline, "+")} as due,
        max(failing) as failing
      from (
        select w.subject_id, w.since, 0 as failing from (${erasuresWaitingSince(dialect, latest)}) as w
        union all
        select s.subject_id, s.failing_since, 1 from ${dialect.table("subjects")} as s
          where s.failing_since is not null and s.failing_since <= ${latest}
      ) as waiting group by subject_id) as subjects`,
    where: raw("true"),
    at: raw("subjects.due"),
    id: raw("subjects.subject_id"),
    columns: sql`subjects.subject_id, subjects.failing, ${dialect.epochMs(raw("subjects.since"))} as since_ms,
      ${dialect.epochMs(raw("subjects.due"))} as due_ms`,
  };
}

export const RELEASED: Projection<{ readonly subjectId: string }> = projection({
  subjectId: text("subject_id"),
});

/** Subjects with a retention that has ended. */
export function listReleased(dialect: Dialect, limit: number): Sql {
  return sql`select subject_id from ${dialect.table("subjects")}
    where retained_until is not null and retained_until <= ${dialect.now()} order by retained_until, subject_id limit ${limit}`;
}

interface Words {
  readonly now: Sql;
  /** PostgreSQL needs no clean-up: its own vacuum removes overwritten rows. */
  readonly mark: Sql;
}

function words(dialect: Dialect): Words {
  return { now: dialect.now(), mark: dialect.pick({ postgres: raw("0"), sqlite: raw("2") }) };
}
