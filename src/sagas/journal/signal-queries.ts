/** The statements on what sagas wait for: signals that were sent to them, and events that they will wait for. */
import { CLAIMABLE, sagaMachine } from "../../core/saga/machine.ts";
import type { Arrival } from "../../core/saga/wait.ts";
import type { Column, Dialect, Row } from "../../storage/database.ts";
import { literals, raw, sql, type Sql } from "../../storage/sql.ts";
import type { NewSaga } from "./journal.ts";

/** A saga's input as its row keeps it. */
export function contextOf(input: string): string {
  return `{"input":${input}}`;
}

const OPEN = sagaMachine.states.filter((state) => !sagaMachine.isTerminal(state));

/** Locks the saga's row until the signal is committed: signals to one saga are numbered one after the other. */
export function lockSaga(dialect: Dialect, sagaId: string): Sql {
  return sql`select c.status, c.signals from ${dialect.table("saga_executions")} as c
    where c.id = ${sagaId} ${dialect.forUpdateOf("c")}`;
}

export function selectSent(dialect: Dialect, sagaId: string, name: string, dedupeId: string): Sql {
  return sql`select number from ${dialect.table("saga_signals")}
    where saga_id = ${sagaId} and name = ${name} and dedupe_id = ${dedupeId}`;
}

export interface NewSignal {
  readonly sagaId: string;
  readonly name: string;
  readonly dedupeId: string;
  readonly payload: string | null;
  readonly version: number | undefined;
}

export function insertSignal(dialect: Dialect, signal: NewSignal, number: number): Sql {
  const { sagaId, name, dedupeId, payload, version } = signal;
  return sql`insert into ${dialect.table("saga_signals")}
      (saga_id, number, name, dedupe_id, payload, event_version, created_at)
    values (${sagaId}, ${number}, ${name}, ${dedupeId}, ${payload}, ${version ?? null}, ${dialect.now()})`;
}

/** Counts the signal. A saga that waits for exactly this one and that no worker has becomes due at once. */
export function countSignal(dialect: Dialect, { sagaId, name }: NewSignal, number: number): Sql {
  const isAwaited = sql`owner is null and awaits = ${name} and status in (${literals(CLAIMABLE)})`;
  return sql`update ${dialect.table("saga_executions")}
    set signals = ${number}, next_attempt_at = case when ${isAwaited} then ${dialect.now()} else next_attempt_at end
    where id = ${sagaId} and status in (${literals(OPEN)})`;
}

export function selectSignals(dialect: Dialect, sagaId: string): Sql {
  return sql`select number, name, dedupe_id, payload, event_version from ${dialect.table("saga_signals")}
    where saga_id = ${sagaId} order by number`;
}

export function toArrival(row: Row): Arrival {
  const version = row["event_version"];
  return {
    number: Number(row["number"]),
    name: row["name"] as string,
    payload: row["payload"] as string | null,
    ...(version !== null && { version: Number(version) }),
  };
}

export function deleteSignals(dialect: Dialect, ids: readonly string[]): Sql {
  return sql`delete from ${dialect.table("saga_signals")} where ${dialect.among(raw("saga_id"), ids)}`;
}

const INTEREST: readonly Column[] = [
  { name: "saga_id", type: "text" },
  { name: "name", type: "text" },
  { name: "definition", type: "int" },
  { name: "context", type: "text" },
  { name: "event_type", type: "text" },
  { name: "field", type: "text" },
  { name: "value", type: "text" },
  { name: "place", type: "int" },
  { name: "step_name", type: "text" },
];

/** Inserts interests only for the saga that this start created: an existing saga with the same id gets none. */
export function insertInterests(
  dialect: Dialect,
  sagas: readonly Pick<NewSaga, "id" | "name" | "definition" | "input" | "interests">[],
): Sql {
  const values = sagas.flatMap(({ id, name, definition, input, interests }) =>
    interests.map(({ eventType, field, value, place, step }) => {
      const saga = [id, name, definition, contextOf(input)];
      return [...saga, eventType, field, value, place, step];
    }),
  );
  return sql`insert into ${dialect.table("saga_interests")} (event_type, field, value, saga_id, place, step_name)
    select r.event_type, r.field, r.value, r.saga_id, r.place, r.step_name from ${dialect.rows(INTEREST, values)}
    where exists (select 1 from ${dialect.table("saga_executions")} as c where c.id = r.saga_id and c.name = r.name
      and c.definition = r.definition and c.context = r.context and c.status || '' in (${literals(OPEN)}))
    on conflict do nothing`;
}

/** Removes the interests of sagas that have ended. */
export function forgetInterests(dialect: Dialect, ids: readonly string[]): Sql {
  return sql`delete from ${dialect.table("saga_interests")} as i where ${dialect.among(raw("i.saga_id"), ids)}
    and not exists (select 1 from ${dialect.table("saga_executions")} as c
      where c.id = i.saga_id and c.status || '' in (${literals(OPEN)}))`;
}

const MATCH: readonly Column[] = [
  { name: "event_type", type: "text" },
  { name: "field", type: "text" },
  { name: "value", type: "text" },
];

/** The steps of open sagas that wait, or will wait, for an event with one of these values. */
export function selectInterested(
  dialect: Dialect,
  eventType: string,
  values: readonly (readonly [field: string, value: string])[],
): Sql {
  const rows = values.map(([field, value]) => [eventType, field, value]);
  return sql`select i.saga_id, i.step_name from ${dialect.rows(MATCH, rows)}
    join ${dialect.table("saga_interests")} as i
      on i.event_type = r.event_type and i.field = r.field and i.value = r.value
    order by i.saga_id, i.place`;
}
