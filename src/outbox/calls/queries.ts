/** The statements of durable calls: enqueue a call, and find the call with a given id. */
import type { Gate } from "../../core/start/gate.ts";
import type { Limits } from "../../core/start/limits.ts";
import { text, uuid } from "../../storage/column.ts";
import type { Dialect } from "../../storage/database.ts";
import { laneOf } from "../../storage/limits/lane.ts";
import { empty, raw, sql, type Sql } from "../../storage/sql.ts";
import { projection, type Projection } from "../../storage/table.ts";

export interface NewCall {
  readonly entryId: string;
  readonly name: string;
  /** The input as JSON. */
  readonly payload: string;
  readonly limits: Limits | undefined;
  readonly gate: Gate | undefined;
  /** The caller's own id, and a hash of the input, which outlives the input itself. */
  readonly dedupe: { readonly key: string; readonly fingerprint: string } | undefined;
  readonly traceparent: string | undefined;
}

/** Returns no row if a call of this name has the same id, or if this very call was written before. */
export function insertCall(dialect: Dialect, call: NewCall): Sql {
  const { entryId, name, payload, limits, dedupe, traceparent } = call;
  const limited = limits && sql`, ${JSON.stringify(limits)}, ${limits.concurrency?.key ?? null}`;
  return sql`insert into ${dialect.table("outbox")}
      (entry_id, kind, lane, name, payload, dedupe_key, dedupe_input, next_attempt_at, enqueued_at, traceparent${limited ? raw(", limits, concurrency_key") : empty})
    values (${entryId}, 'call', ${laneOf(name, limits)}, ${name}, ${payload}, ${dedupe?.key ?? null}, ${dedupe?.fingerprint ?? null},
      ${gateOf(dialect, call.gate)}, ${dialect.now()}, ${traceparent ?? null}${limited ?? empty})
    on conflict do nothing returning entry_id`;
}

function gateOf(dialect: Dialect, gate: Gate | undefined): Sql {
  if (!gate) return raw("null");
  return gate.atMs === undefined ? dialect.plusMs(dialect.now(), gate.afterMs) : dialect.instantOf(gate.atMs);
}

export interface FoundCall {
  readonly entryId: string;
  readonly fingerprint: string;
}

export const FOUND_CALL: Projection<FoundCall> = projection({
  entryId: uuid("entry_id"),
  fingerprint: text("dedupe_input"),
});

/** The call of this name that has the caller's id. */
export function selectCallByKey(dialect: Dialect, name: string, key: string): Sql {
  return sql`select entry_id, dedupe_input from ${dialect.table("outbox")}
    where kind = 'call' and name = ${name} and dedupe_key = ${key}`;
}
