/**
 * Everything that leaves the system: one table, told apart by kind. A claim looks for one kind, fresh entries first;
 * its index holds open rows alone and begins with both, so it walks over nobody else's rows and over none that is
 * finished. The rows that a subject's request still waits for have an index of their own, for completion and reports.
 */
import { OPERATIONS, OUTBOX_KINDS, VERIFICATIONS } from "../../core/outbox/entry.ts";
import { BLOCKING, CLAIMABLE, outboxMachine } from "../../core/outbox/machine.ts";
import type { Dialect } from "../database.ts";
import { indexName, oneOf, refuse, words } from "./ddl.ts";

/** Fresh entries are of class 0, those that were tried of class 1, so that a crowd that fails cannot starve the fresh. */
export const FRESH_FIRST = (attempts: string): string => `case when ${attempts} = 0 then 0 else 1 end`;

export function outbox(dialect: Dialect): string[] {
  const { instant, uuid, gate, id, bigint } = words(dialect);
  const table = dialect.table("outbox").text;
  const isPostgres = dialect.name === "postgres";
  const index = (name: string): string => indexName(dialect, `outbox_${name}`);
  return [
    `create table ${table} (
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
      dedupe_key text, dedupe_input text,
      payload text,
      generation integer not null default 0,
      verification text check (${oneOf("verification", VERIFICATIONS)}),
      status text not null default 'pending' check (${oneOf("status", outboxMachine.states)}),
      attempts integer not null default 0 check (attempts >= 0),
      horizons integer not null default 0,
      requeues integer not null default 0,
      token ${bigint} not null default 0,
      enqueued_at ${instant} not null,
      last_attempt_at ${instant},
      next_attempt_at ${instant},
      last_error text,
      check (kind <> 'erasure' or (subject_id is not null and operation is not null and ref_kind is not null))
    )${isPostgres ? " with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05)" : " strict, without rowid"}`,
    `create index ${index("due")} on ${table} (kind, (${FRESH_FIRST("attempts")}), ${gate("next_attempt_at")}, entry_id) where ${oneOf("status", CLAIMABLE)}`,
    `create index ${index("subject")} on ${table} (subject_id, operation, entry_id) where kind = 'erasure' and ${oneOf("status", BLOCKING)}`,
    // Of two corrections of one thing, the newer is the only open one: whoever does not see the other waits for it here.
    `create unique index ${index("slot")} on ${table} (slot) where slot is not null and ${oneOf("status", CLAIMABLE)}`,
    `create unique index ${index("call")} on ${table} (name, dedupe_key) where kind = 'call' and dedupe_key is not null`,
    `create index ${index("abandoned")} on ${table} (kind, enqueued_at, entry_id) where status = 'abandoned'`,
    `create index ${index("scheduled")} on ${table} (kind, next_attempt_at, entry_id) where status = 'scheduled'`,
    ...refuse(dialect, {
      name: "outbox_terminal",
      table: "outbox",
      on: "update",
      when: oneOf("old.status", outboxMachine.terminal),
      message: "amends: an entry of the outbox that is done with never changes",
    }),
  ];
}
