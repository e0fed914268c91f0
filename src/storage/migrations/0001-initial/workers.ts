/**
 * The workers that run, or have run lately. A worker that has nothing to do holds no lease, so its presence is recorded
 * here. Nothing depends on these rows: they are for people. `is_run` marks a process that ran due work once (`runOnce`), as a
 * cron job does: it says nothing more after its beginning.
 */
import type { Ddl } from "../ddl.ts";

export function workers({ instant, bool, no, table, index, end }: Ddl): string[] {
  const name = table("workers");
  return [
    `create table ${name} (
      owner text primary key,
      started_at ${instant} not null,
      seen_at ${instant} not null,
      stopped_at ${instant},
      is_run ${bool} not null default ${no}
    ${end("changing")}`,
    index("workers_seen", `${name} (seen_at)`),
  ];
}
