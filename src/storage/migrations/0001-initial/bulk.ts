/**
 * Bulk actions of operators. A row is one action over a filter or a list of ids, with its progress. `page` holds the items of the page
 * that is under way, and `place` is where the next one begins: both are written in the commit that counts the page before, so that a
 * worker that follows another one knows which items may have been carried out. Items are on record in `operator_actions`.
 */
import { BULK_ACTIONS, BULK_KINDS } from "../../../core/bulk/action.ts";
import { bulkMachine, OPEN } from "../../../core/bulk/machine.ts";
import { initially, oneOf, type Ddl } from "../ddl.ts";

export function bulk({ instant, bigint, bool, id, table, index, gate, end, refuse }: Ddl): string[] {
  const name = table("bulk_actions");
  return [
    `create table ${name} (
      id ${id} primary key,
      action text not null check (${oneOf("action", BULK_ACTIONS)}),
      kind text not null check (${oneOf("kind", BULK_KINDS)}),
      request text not null,
      reason text not null,
      done_by text,
      status text not null ${initially(bulkMachine)} check (${oneOf("status", bulkMachine.states)}),
      total ${bigint} not null,
      is_exact ${bool} not null,
      done ${bigint} not null default 0,
      refused ${bigint} not null default 0,
      refusals text not null default '[]',
      page text,
      place text,
      token ${bigint} not null default 0,
      next_attempt_at ${instant},
      last_attempt_at ${instant},
      created_at ${instant} not null,
      updated_at ${instant} not null,
      ended_at ${instant},
      stop_reason text,
      stopped_by text
    ${end("changing")}`,
    index("bulk_actions_due", `${name} (${gate("next_attempt_at")}, id) where ${oneOf("status", OPEN)}`),
    index("bulk_actions_created", `${name} (created_at, id)`),
    index("bulk_actions_ended", `${name} (ended_at, id) where ended_at is not null`),
    ...refuse({
      name: "bulk_actions_terminal",
      table: "bulk_actions",
      on: "update",
      when: oneOf("old.status", bulkMachine.terminal),
      message: "amends: a bulk action that is over never changes",
    }),
  ];
}
