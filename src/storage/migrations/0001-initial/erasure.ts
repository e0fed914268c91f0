/**
 * The state of each data subject's requests. Requests lock the subject's row, so that concurrent requests of one
 * subject run one after the other. The row holds the subject's id and no other personal data.
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
