/** What the database refuses to record, as processes report it: one row for each part and reason. */
import type { Ddl } from "../ddl.ts";

export function refusedWrites({ instant, id, table, end }: Ddl): string[] {
  return [
    `create table ${table("refused_writes")} (
      id ${id} primary key,
      operation text not null,
      code text not null,
      state text not null,
      said text not null,
      advice text not null,
      waiting integer not null,
      owner text,
      since ${instant} not null,
      seen_at ${instant} not null
    ${end("keyed")}`,
  ];
}
