/**
 * The outbox: one table for everything that leaves the system, with a column for the kind. A claim selects one
 * kind, lane by lane, fresh entries first; its index holds only open rows and begins with these, so a claim reads no rows of
 * other kinds and no finished ones. The lane is the handler of a delivery, with the version of its event, or its saga if only a
 * process that has the saga can go on with it; or the name of a call. Subjects' requests and unrouted events have no lane:
 * they are claimed by indexes of their own.
 *
 * A row of kind `event` is an unrouted event, and one of kind `delivery` is one event for one handler; `entry_id`
 * is derived from the two, so that the primary key stores each pair once. `traceparent` is the writer's W3C trace
 * context: the work of the row continues that trace.
 *
 * A call with limits by key has them in `limits`, and its lane names them too: it waits in a lane of its own. What runs of a
 * concurrency key is counted along an index that holds only such calls.
 */
import { OPERATIONS, OUTBOX_KINDS, VERIFICATIONS } from "../../../core/outbox/entry.ts";
import { BLOCKING, CLAIMABLE, HELD, outboxMachine } from "../../../core/outbox/machine.ts";
import { freshFirst, isUntried, triedLast } from "../../claim.ts";
import { initially, isState, oneOf, type Ddl } from "../ddl.ts";

export function outbox(ddl: Ddl): string[] {
  const { instant, uuid, bigint, id, table, index, uniqueIndex, gate, end, refuse } = ddl;
  const name = table("outbox");
  const open = oneOf("status", CLAIMABLE);
  return [
    `create table ${name} (
      entry_id ${uuid} primary key,
      kind text not null check (${oneOf("kind", OUTBOX_KINDS)}),
      name text not null,
      subject_id ${id},
      operation text check (${oneOf("operation", OPERATIONS)}),
      ref_kind text,
      ref_value text,
      ref_extra text,
      slot text,
      saga_id text,
      event_id ${uuid},
      event_version integer,
      handler ${id},
      lane ${id} not null default '',
      correlation ${id},
      causation ${uuid},
      dedupe_key text, dedupe_input text,
      payload text,
      answer text,
      generation integer not null default 0,
      verification text check (${oneOf("verification", VERIFICATIONS)}),
      status text not null ${initially(outboxMachine)} check (${oneOf("status", outboxMachine.states)}),
      attempts integer not null default 0 check (attempts >= 0),
      horizons integer not null default 0,
      requeues integer not null default 0,
      token ${bigint} not null default 0,
      enqueued_at ${instant} not null,
      last_attempt_at ${instant},
      next_attempt_at ${instant},
      last_error text,
      notes text,
      traceparent text,
      limits text,
      concurrency_key ${id},
      check ((lane <> '') = (kind in ('delivery', 'call'))),
      check (kind <> 'erasure' or (subject_id is not null and operation is not null and ref_kind is not null))
    ${end("changing", "keyed")}`,
    index(
      "outbox_due",
      `${name} (kind, lane, (${freshFirst("attempts")}), ${gate("next_attempt_at")}, entry_id) where lane <> '' and ${open}`,
    ),
    index(
      "outbox_running",
      `${name} (name, concurrency_key, next_attempt_at) where concurrency_key is not null and ${oneOf("status", HELD)}`,
    ),
    // Requests of subjects are claimed in an order of their own.
    index(
      "outbox_erasure",
      `${name} ((${triedLast()}), (case when ${isUntried()} then enqueued_at else ${gate("next_attempt_at")} end), ${gate("next_attempt_at")}, entry_id) where kind = 'erasure' and ${open}`,
    ),
    // A claim does not ask for a subject, so no plan reads all of this index for it.
    index(
      "outbox_subject",
      `${name} (subject_id, operation, entry_id) where kind = 'erasure' and subject_id is not null and ${oneOf("status", BLOCKING)}`,
    ),
    // At most one rectification of a slot is open: a concurrent writer waits here.
    uniqueIndex("outbox_slot", `${name} (slot) where slot is not null and ${open}`),
    // A call with a caller's id is enqueued once.
    uniqueIndex("outbox_call", `${name} (name, dedupe_key) where kind = 'call' and dedupe_key is not null`),
    index(
      "outbox_abandoned",
      `${name} (kind, enqueued_at, entry_id) where ${isState("status", outboxMachine, "abandoned")}`,
    ),
    index(
      "outbox_scheduled",
      `${name} (kind, next_attempt_at, entry_id) where ${isState("status", outboxMachine, "scheduled")}`,
    ),
    // A process selects unrouted events by the names that its handlers take.
    index(
      "outbox_unrouted",
      `${name} (name, entry_id) where event_id is not null and handler is null and ${open}`,
    ),
    // A delivery waits while an earlier one of the same correlation and handler is open.
    index(
      "outbox_order",
      `${name} (handler, correlation, entry_id) where handler is not null and correlation is not null and ${open}`,
    ),
    ...refuse({
      name: "outbox_terminal",
      table: "outbox",
      on: "update",
      when: oneOf("old.status", outboxMachine.terminal),
      message: "amends: an entry of the outbox that is done with never changes",
    }),
  ];
}
