/**
 * What is known of a data subject's own requests. The row is what requests of one subject wait for, so that an erasure
 * and a rectification that come at once follow one another. It holds the subject's id and nothing personal.
 */
import type { Ddl } from "../ddl.ts";

export function erasure({ instant, id, table, index, end }: Ddl): string[] {
  const name = table("subjects");
  return [
    `create table ${name} (
      subject_id ${id} primary key,
      erasures integer not null default 0,
      rectifications integer not null default 0,
      erased_at ${instant},
      retained_until ${instant},
      failing_since ${instant},
      last_error text,
      last_note text,
      clean_up integer not null default 0
    ${end("keyed")}`,
    index("subjects_retained", `${name} (retained_until, subject_id) where retained_until is not null`),
    index("subjects_failing", `${name} (failing_since, subject_id) where failing_since is not null`),
    index("subjects_clean_up", `${name} (subject_id) where clean_up > 0`),
  ];
}
