/** The storage contract on Amends' own tables. The engine does not come this way: it writes checkpoints in groups. */
import { AmendsError, SagaConcurrencyError } from "../core/errors.ts";
import { checkId, checkName, type Direction } from "../core/identity.ts";
import { encodeJson } from "../core/json.ts";
import type { EntryStatus } from "../core/saga/entry.ts";
import { CLAIMABLE, sagaMachine, type SagaStatus } from "../core/saga/machine.ts";
import type { Database, Row, Session } from "../storage/database.ts";
import { migrate } from "../storage/migrations/migrate.ts";
import { persist } from "../storage/retry.ts";
import { empty, literals, raw, sql } from "../storage/sql.ts";
import type {
  SagaContext,
  SagaLogEntry,
  SagaOperations,
  SagaStorage,
  SagaStorageRun,
  StoredSagaState,
} from "./contract.ts";
import { insertLines } from "./flush.ts";
import { resultsOf } from "./outcome.ts";
import { selectLogs, selectSaga } from "./queries.ts";
import { toLogEntry, toRecord } from "./rows.ts";

type Operation<T> = (session: Session) => Promise<T>;

/** Leaves a transaction without committing it, with what was read in it. */
class Peek extends Error {
  readonly value: unknown;

  constructor(value: unknown) {
    super("only looked");
    this.value = value;
  }
}

export class SqlSagaStorage implements SagaStorage {
  readonly #db: Database;
  #ready: Promise<unknown> | undefined;

  constructor(database: Database) {
    this.#db = database;
  }

  createSaga(sagaId: string, name: string, context: SagaContext): Promise<void> {
    return this.#run(createSaga(sagaId, name, context));
  }

  updateContext(sagaId: string, context: SagaContext, currentVersion?: number): Promise<void> {
    return this.#run(updateContext(sagaId, context, currentVersion));
  }

  updateStatus(sagaId: string, status: SagaStatus): Promise<void> {
    return this.#run(updateStatus(sagaId, status));
  }

  logStep(
    id: string,
    step: string,
    action: Direction,
    status: EntryStatus,
    details?: string | null,
  ): Promise<void> {
    return this.#run(logStep(id, step, action, status, details));
  }

  loadSagaState(sagaId: string): Promise<StoredSagaState> {
    return this.#run(loadSagaState(sagaId, false));
  }

  getStepHistory(sagaId: string): Promise<readonly SagaLogEntry[]> {
    return this.#run(getStepHistory(sagaId));
  }

  getSagasForRecovery(
    limit: number,
    maxRecoveryAttempts: number = 5,
    staleAfterSeconds?: number,
    sagaName?: string,
  ): Promise<readonly string[]> {
    return this.#run(async ({ dialect, query }) => {
      const stale =
        staleAfterSeconds === undefined
          ? empty
          : sql`and ${dialect.plusMs(raw("updated_at"), staleAfterSeconds * 1_000)} <= ${dialect.now()}`;
      const rows = await query(sql`select id from ${dialect.table("saga_executions")}
        where status in (${literals(CLAIMABLE)}) and recovery_attempts < ${maxRecoveryAttempts}
          and ${dialect.gate(raw("next_attempt_at"))} <= ${dialect.now()} ${stale}
          ${sagaName === undefined ? empty : sql`and name = ${sagaName}`}
        order by recovery_attempts, updated_at, id limit ${limit}`);
      return rows.map((row) => row["id"] as string);
    });
  }

  incrementRecoveryAttempts(sagaId: string, newStatus?: SagaStatus): Promise<void> {
    return this.#run(async (session) => {
      if (newStatus !== undefined) await updateStatus(sagaId, newStatus)(session);
      await change(
        session,
        sagaId,
        (row) => sql`recovery_attempts = ${Number(row["recovery_attempts"]) + 1}`,
      );
    });
  }

  setRecoveryAttempts(sagaId: string, attempts: number): Promise<void> {
    if (!Number.isInteger(attempts) || attempts < 0) {
      throw new AmendsError("BAD_OPTION", "Recovery attempts are a whole number, 0 or more.");
    }
    return this.#run((session) => change(session, sagaId, () => sql`recovery_attempts = ${attempts}`));
  }

  async createRun<T>(work: (run: SagaStorageRun) => Promise<T>): Promise<T> {
    let pending: Operation<unknown>[] = [];
    const later = async (operation: Operation<void>): Promise<void> => {
      // Tried against what is there and what is pending, so that a mistake is told where it is made.
      await peek(operation);
      pending.push(operation);
    };
    const peek = <R>(operation: Operation<R>): Promise<R> =>
      this.#run(async (session) => {
        for (const before of pending) await before(session);
        throw new Peek(await operation(session));
      }).catch((error: unknown) => {
        if (error instanceof Peek) return error.value as R;
        throw error;
      });
    const operations: SagaOperations = {
      createSaga: (...given) => later(createSaga(...given)),
      updateContext: (...given) => later(updateContext(...given)),
      updateStatus: (...given) => later(updateStatus(...given)),
      logStep: (...given) => later(logStep(...given)),
      loadSagaState: (id) => peek(loadSagaState(id, false)),
      getStepHistory: (id) => peek(getStepHistory(id)),
    };
    return work({
      ...operations,
      commit: async () => {
        await this.#run(async (session) => {
          for (const operation of pending) await operation(session);
        });
        pending = [];
      },
      rollback: async () => {
        pending = [];
      },
    });
  }

  async #run<T>(operation: Operation<T>): Promise<T> {
    this.#ready ??= migrate(this.#db).catch((error: unknown) => {
      this.#ready = undefined;
      throw error;
    });
    await this.#ready;
    return persist(this.#db, () =>
      this.#db.transaction(async (session) => {
        try {
          return await operation({
            dialect: session.dialect,
            query: (statement) => session.query(statement),
          });
        } catch (error) {
          // A look carries its value out as an error, which must not be taken for trouble with the database.
          if (error instanceof Peek)
            throw Object.assign(new AmendsError("CLOSED", "only looked"), { peek: error });
          throw error;
        }
      }),
    ).catch((error: unknown) => {
      throw (error as { peek?: Peek }).peek ?? error;
    });
  }
}

function createSaga(sagaId: string, name: string, context: SagaContext): Operation<void> {
  const id = checkId(sagaId, "The id of a saga");
  checkName(name, "A saga's name");
  const text = encodeContext(context);
  return async ({ dialect, query }) => {
    const created = await query(sql`insert into ${dialect.table("saga_executions")}
        (id, name, status, context, created_at, updated_at)
      values (${id}, ${name}, 'PENDING', ${text}, ${dialect.now()}, ${dialect.now()})
      on conflict (id) do nothing returning id`);
    if (created.length === 0)
      throw new AmendsError("SAGA_CONFLICT", "A saga with this id exists already.", { id });
  };
}

function updateContext(sagaId: string, context: SagaContext, currentVersion?: number): Operation<void> {
  const text = encodeContext(context);
  return (session) => change(session, sagaId, () => sql`context = ${text}`, currentVersion);
}

function updateStatus(sagaId: string, status: SagaStatus): Operation<void> {
  return (session) =>
    change(session, sagaId, (row) => {
      const from = row["status"] as SagaStatus;
      if (from !== status && !sagaMachine.arrow(from, status)) {
        throw new AmendsError("NOT_ALLOWED_NOW", `A saga that is ${from} cannot become ${status}.`, {
          id: sagaId,
        });
      }
      return sql`status = ${status}`;
    });
}

function logStep(
  id: string,
  step: string,
  action: Direction,
  status: EntryStatus,
  details?: string | null,
): Operation<void> {
  return async (session) => {
    const { version } = await lockSaga(session, id);
    const line = {
      sagaId: id,
      version: version + 1,
      token: 0,
      entry: { step, action, status, details: details ?? null },
    };
    await session.query(insertLines(session.dialect, [line]));
  };
}

function loadSagaState(id: string, lock: boolean): Operation<StoredSagaState> {
  return async (session) => {
    const { row, version } = await lockSaga(session, id, lock);
    const stored = JSON.parse(row["context"] as string) as SagaContext;
    const record = toRecord(row, (await session.query(selectLogs(session.dialect, [id]))).map(toLogEntry));
    // Sagas of the engine keep their results in the log: here they are put together.
    const context = record.plan.length === 0 ? stored : { ...stored, results: resultsOf(record.state) };
    return { status: row["status"] as SagaStatus, context, version };
  };
}

function getStepHistory(id: string): Operation<readonly SagaLogEntry[]> {
  return async (session) => {
    const { row } = await lockSaga(session, id, false);
    const record = toRecord(row, (await session.query(selectLogs(session.dialect, [id]))).map(toLogEntry));
    const entry = (
      id_: number,
      stepName: string,
      action: Direction,
      status: EntryStatus,
      details: string | null,
      atMs: number,
    ): SagaLogEntry => ({
      id: id_,
      sagaId: id,
      stepName,
      action,
      status,
      details,
      createdAt: new Date(atMs),
    });
    const history: SagaLogEntry[] = [];
    const first = record.begun ? record.plan[0] : undefined;
    if (first) history.push(entry(1, first.name, "act", "STARTED", null, record.createdAtMs));
    for (const { id: version, step, action, status, details, next, atMs = 0 } of record.entries) {
      history.push(entry(version, step, action, status, details, atMs));
      if (next) history.push(entry(version, next.step, next.action, "STARTED", null, atMs));
    }
    return history;
  };
}

/** Changes the row of a saga, which must exist and, where a version is given, must still have it. */
async function change(
  session: Session,
  id: string,
  set: (row: Row) => ReturnType<typeof sql>,
  expected?: number,
): Promise<void> {
  const { row, version } = await lockSaga(session, id);
  if (expected !== undefined && expected !== version) throw new SagaConcurrencyError(id, expected, version);
  const { dialect } = session;
  await session.query(sql`update ${dialect.table("saga_executions")}
    set ${set(row)}, version = ${version + 1}, updated_at = ${dialect.now()} where id = ${id}`);
}

async function lockSaga(
  session: Session,
  id: string,
  lock: boolean = true,
): Promise<{ row: Row; version: number }> {
  const { dialect } = session;
  const [row] = await session.query(selectSaga(dialect, id, lock));
  if (!row) throw new AmendsError("SAGA_NOT_FOUND", "There is no saga with this id.", { id });
  const [last] = await session.query(
    sql`select max(id) as id from ${dialect.table("saga_logs")} where saga_id = ${id}`,
  );
  return { row, version: Math.max(Number(row["version"]), Number(last?.["id"] ?? 0)) };
}

function encodeContext(context: SagaContext): string {
  if (typeof context !== "object" || context === null || Array.isArray(context)) {
    throw new AmendsError("BAD_JSON", "The context of a saga must be an object.");
  }
  return encodeJson(context, { field: "The context of a saga" }) ?? "{}";
}
