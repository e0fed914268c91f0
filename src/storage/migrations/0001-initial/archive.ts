/**
 * What has ended and is kept for people to look at. An archived saga is one row, with its log in it as it was (`record`),
 * and none of the indexes that claims and recovery need. An id may be used again: then it is there twice.
 */
import { sagaMachine } from "../../../core/saga/machine.ts";
import { oneOf, type Ddl } from "../ddl.ts";

export function archive({ instant, id, table, index, end, refuse }: Ddl): string[] {
  const name = table("saga_archive");
  return [
    `create table ${name} (
      id ${id} not null,
      name ${id} not null,
      status text not null check (${oneOf("status", sagaMachine.terminal)}),
      plan text not null,
      recovery_attempts integer not null,
      record text not null,
      created_at ${instant} not null,
      updated_at ${instant} not null,
      archived_at ${instant} not null,
      primary key (id, updated_at)
    ${end("keyed")}`,
    index("saga_archive_ended", `${name} (status, updated_at, id)`),
    index("saga_archive_name", `${name} (name, status, updated_at, id)`),
    index("saga_archive_age", `${name} (archived_at, id)`),
    ...refuse({
      name: "saga_archive_unchanged",
      table: "saga_archive",
      on: "update",
      message: "amends: a saga that was archived never changes",
    }),
  ];
}
