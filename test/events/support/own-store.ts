/** A store of states and an outbox of the user's own: two tables, written through the transaction that is given. */
import { SagaConcurrencyError, type EventValue, type SagaState, type SagaStore } from "amends/events";
import type { Database } from "../../../src/storage/database.ts";
import { raw, sql } from "../../../src/storage/sql.ts";

export interface OwnStore extends SagaStore {
  /** Every version that was saved and committed, in order. */
  committed(): Promise<string[]>;
  /** Called before each save: what it throws, the store throws. */
  beforeSave: ((state: SagaState) => unknown) | undefined;
}

export async function ownStore(db: Database): Promise<OwnStore> {
  await db.query(
    raw(
      "create table own_states (saga_type text, process_id text, version integer, state text, primary key (saga_type, process_id))",
    ),
  );
  await db.query(raw("create table own_saves (version integer, status text, current_step integer)"));
  const get: SagaStore["get"] = async (sagaType, processId, { tx }) => {
    const query = sql`select state from own_states where saga_type = ${sagaType} and process_id = ${processId}`;
    const [row] = await (tx === undefined ? db : db.join(tx)).query(query);
    if (!row) return undefined;
    const state = JSON.parse(row["state"] as string) as SagaState & { startedAt: string };
    return { ...state, startedAt: new Date(state.startedAt) };
  };
  const store: OwnStore = {
    beforeSave: undefined,
    get,
    async save(state, { tx }) {
      const session = db.join(tx);
      const text = JSON.stringify(state);
      const { sagaType, processId, sagaId, version, status, currentStep } = state;
      const saved = await session.query(
        sql`insert into own_states values (${sagaType}, ${processId}, ${version}, ${text})
          on conflict (saga_type, process_id) do update set version = excluded.version, state = excluded.state
          where own_states.version < excluded.version returning version`,
      );
      if (saved.length === 0) throw new SagaConcurrencyError(sagaId, version - 1, version);
      await session.query(sql`insert into own_saves values (${version}, ${status}, ${currentStep})`);
      await store.beforeSave?.(state);
    },
    async committed() {
      const rows = await db.query(raw("select * from own_saves order by version"));
      return rows.map((row) => `${String(row["status"])} ${String(row["current_step"])}`);
    },
  };
  return store;
}

export interface OwnOutbox {
  append(event: EventValue, options: { readonly tx: unknown }): Promise<void>;
  types(): Promise<string[]>;
}

export async function ownOutbox(db: Database): Promise<OwnOutbox> {
  await db.query(raw("create table own_events (type text, id text)"));
  return {
    async append({ type, id }, { tx }) {
      await db.join(tx).query(sql`insert into own_events values (${type}, ${id})`);
    },
    async types() {
      const rows = await db.query(raw("select type from own_events order by id"));
      return rows.map((row) => row["type"] as string);
    },
  };
}
