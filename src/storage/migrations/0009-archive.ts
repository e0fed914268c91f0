/**
 * What has ended and is kept for people to look at. An archived saga is one row, with its log in it as it was
 * (`record`), and none of the indexes that claims and recovery need. An id may be used again: then it is there twice. Runs of event sagas that have ended get the index by which lists, figures and
 * retention find them; each run is written into it once, at its end.
 */
import { flowMachine } from "../../core/flow/machine.ts";
import { sagaMachine } from "../../core/saga/machine.ts";
import type { Dialect } from "../database.ts";
import { indexName, oneOf, refuse, words } from "./ddl.ts";

export function archive(dialect: Dialect): string[] {
  const { instant, id } = words(dialect);
  const isPostgres = dialect.name === "postgres";
  const sagas = dialect.table("saga_archive").text;
  const state = dialect.table("saga_state").text;
  const index = (name: string, on: string): string => `create index ${indexName(dialect, name)} on ${on}`;
  return [
    `create table ${sagas} (
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
    )${isPostgres ? "" : " strict, without rowid"}`,
    index("saga_archive_ended", `${sagas} (status, updated_at, id)`),
    index("saga_archive_name", `${sagas} (name, status, updated_at, id)`),
    index("saga_archive_age", `${sagas} (archived_at, id)`),
    ...refuse(dialect, {
      name: "saga_archive_unchanged",
      table: "saga_archive",
      on: "update",
      message: "amends: a saga that was archived never changes",
    }),
    index(
      "saga_state_ended",
      `${state} (status, rested_at, saga_id) where ${oneOf("status", flowMachine.terminal)}`,
    ),
  ];
}
