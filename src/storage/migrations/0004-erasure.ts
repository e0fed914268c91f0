/**
 * What is known of a data subject's own requests. The row is what requests of one subject wait for, so that an erasure
 * and a rectification that come at once follow one another. It holds the subject's id and nothing personal.
 */
import type { Dialect } from "../database.ts";
import { indexName, words } from "./ddl.ts";

export function erasure(dialect: Dialect): string[] {
  const { instant, id } = words(dialect);
  const isPostgres = dialect.name === "postgres";
  const table = dialect.table("subjects").text;
  const index = (name: string): string => indexName(dialect, `subjects_${name}`);
  return [
    `create table ${table} (
      subject_id ${id} primary key,
      erasures integer not null default 0,
      rectifications integer not null default 0,
      erased_at ${instant},
      retained_until ${instant},
      failing_since ${instant},
      last_error text,
      last_note text,
      clean_up integer not null default 0
    )${isPostgres ? "" : " strict, without rowid"}`,
    `create index ${index("retained")} on ${table} (retained_until, subject_id) where retained_until is not null`,
    `create index ${index("failing")} on ${table} (failing_since, subject_id) where failing_since is not null`,
    `create index ${index("clean_up")} on ${table} (subject_id) where clean_up > 0`,
  ];
}
