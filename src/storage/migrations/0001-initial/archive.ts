/**
 * The archive of ended sagas. An archived saga is one row with its unchanged log (`record`), without the indexes
 * that claims and recovery need. If an id is reused, the archive has it twice.
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
