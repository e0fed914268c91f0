/**
 * What people did, on whichever way they came: asked first, then what became of it. Both are lines of their own, so that
 * nothing is ever changed, and a process that goes away in between leaves the question.
 */
import { ACTION_OUTCOMES } from "../../core/action.ts";
import type { Dialect } from "../database.ts";
import { indexName, oneOf, refuse, words } from "./ddl.ts";

export function console(dialect: Dialect): string[] {
  const { instant, id } = words(dialect);
  const isPostgres = dialect.name === "postgres";
  const table = dialect.table("operator_actions").text;
  const index = (name: string, on: string): string =>
    `create index ${indexName(dialect, `operator_actions_${name}`)} on ${table} ${on}`;
  const message = "amends: what people did is only ever added to";
  return [
    `create table ${table} (
      id ${id} not null,
      outcome text not null check (${oneOf("outcome", ACTION_OUTCOMES)}),
      at ${instant} not null,
      done_by ${id} not null,
      action ${id} not null,
      target_kind ${id} not null,
      target_id ${id} not null,
      reason text not null,
      code text,
      primary key (id, outcome)
    )${isPostgres ? "" : " strict, without rowid"}`,
    index("at", "(at, id) where outcome = 'asked'"),
    index("by", "(done_by, at, id) where outcome = 'asked'"),
    index("target", "(target_id, at, id) where outcome = 'asked'"),
    ...refuse(dialect, {
      name: "operator_actions_unchanged",
      table: "operator_actions",
      on: "update",
      message,
    }),
    ...refuse(dialect, { name: "operator_actions_kept", table: "operator_actions", on: "delete", message }),
  ];
}
