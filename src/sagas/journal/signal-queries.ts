/** The statements on what sagas wait for: signals that were sent to them, and events that they will wait for. */
import { CLAIMABLE, OPEN } from "../../core/saga/machine.ts";
import type { Arrival } from "../../core/saga/steps/wait.ts";
import { int, text } from "../../storage/column.ts";
import type { Dialect, Row } from "../../storage/database.ts";
import { fields } from "../../storage/fields.ts";
import { literals, raw, sql, type Sql } from "../../storage/sql.ts";
import type { Interest, NewSaga } from "./journal.ts";

/** A saga's input as its row keeps it. */
export function contextOf(input: string): string {
  return `{"input":${input}}`;
}

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

/** The column `awaits`: the name that a saga waits for, or all of several names with a space around each. */
export function awaitsText(names: readonly string[]): string {
  return names.length === 1 ? (names[0] as string) : ` ${names.join(" ")} `;
}

/** Does the saga's row wait for this name? */
function isAwaited(dialect: Dialect, name: string): Sql {
  const among = dialect.pick({
    postgres: sql`strpos(awaits, ${` ${name} `}) > 0`,
    sqlite: sql`instr(awaits, ${` ${name} `}) > 0`,
  });
  return sql`owner is null and (awaits = ${name} or ${among}) and status in (${literals(CLAIMABLE)})`;
}

/** Counts the signal. A saga that waits for this one and that no worker has becomes due at once. */
export function countSignal(dialect: Dialect, { sagaId, name }: NewSignal, number: number): Sql {
  return sql`update ${dialect.table("saga_executions")}
    set signals = ${number}, next_attempt_at = case when ${isAwaited(dialect, name)} then ${dialect.now()} else next_attempt_at end
    where id = ${sagaId} and status in (${literals(OPEN)})`;
}

export function selectSignals(dialect: Dialect, sagaId: string): Sql {
  return sql`select number, name, dedupe_id, payload, event_version, ${dialect.epochMs(raw("created_at"))} as created_at from ${dialect.table("saga_signals")}
    where saga_id = ${sagaId} order by number`;
}

export function toArrival(row: Row): Arrival {
  const version = row["event_version"];
  return {
    number: Number(row["number"]),
    name: row["name"] as string,
    payload: row["payload"] as string | null,
    ...(version !== null && { version: Number(version) }),
    atMs: Number(row["created_at"]),
  };
}

export function deleteSignals(dialect: Dialect, ids: readonly string[]): Sql {
  return sql`delete from ${dialect.table("saga_signals")} where ${dialect.among(raw("saga_id"), ids)}`;
}

type Interested = Pick<NewSaga, "id" | "name" | "definition" | "input" | "interests">;

interface SagaInterest extends Interest {
  readonly saga: Interested;
}

const INTEREST = fields<SagaInterest>({
  saga_id: text(({ saga }) => saga.id),
  name: text(({ saga }) => saga.name),
  definition: int(({ saga }) => saga.definition),
  context: text(({ saga }) => contextOf(saga.input)),
  event_type: text(({ eventType }) => eventType),
  field: text(({ field }) => field),
  value: text(({ value }) => value),
  place: int(({ place }) => place),
  step_name: text(({ step }) => step),
});

/** Inserts interests only for the saga that this start created: an existing saga with the same id gets none. */
export function insertInterests(dialect: Dialect, sagas: readonly Interested[]): Sql {
  const interests = sagas.flatMap((saga) => saga.interests.map((interest) => ({ ...interest, saga })));
  return sql`insert into ${dialect.table("saga_interests")} (event_type, field, value, saga_id, place, step_name)
    select r.event_type, r.field, r.value, r.saga_id, r.place, r.step_name from ${dialect.rows(INTEREST, interests)}
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

interface Match {
  readonly eventType: string;
  readonly field: string;
  readonly value: string;
}

const MATCH = fields<Match>({
  event_type: text(({ eventType }) => eventType),
  field: text(({ field }) => field),
  value: text(({ value }) => value),
});

/** The steps of open sagas that wait, or will wait, for an event with one of these values. */
export function selectInterested(
  dialect: Dialect,
  eventType: string,
  values: readonly (readonly [field: string, value: string])[],
): Sql {
  const matches = values.map(([field, value]) => ({ eventType, field, value }));
  return sql`select i.saga_id, i.step_name from ${dialect.rows(MATCH, matches)}
    join ${dialect.table("saga_interests")} as i
      on i.event_type = r.event_type and i.field = r.field and i.value = r.value
    order by i.saga_id, i.place`;
}
