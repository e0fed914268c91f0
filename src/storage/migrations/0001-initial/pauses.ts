/** The names of sagas and of calls that a person has paused. A paused saga says so in its own row. */
import type { Ddl } from "../ddl.ts";

export function pauses({ instant, id, table, end }: Ddl): string[] {
  return [
    `create table ${table("pauses")} (
      queue text not null check (queue in ('sagas', 'calls')),
      name ${id} not null,
      reason text not null,
      paused_by text,
      paused_at ${instant} not null,
      primary key (queue, name)
    ${end("keyed")}`,
  ];
}
