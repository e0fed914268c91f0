/** The storage contract on Amends' own tables. The engine does not use it: it writes checkpoints in groups. */
import { AmendsError, SagaConcurrencyError } from "../core/errors.ts";
import type { Direction } from "../core/identity.ts";
import type { EntryStatus } from "../core/saga/entry.ts";
import type { SagaStatus } from "../core/saga/machine.ts";
import type { Database, Row, Session } from "../storage/database.ts";
import { checkSchema, migrate } from "../storage/migrations/migrate.ts";
import { persist } from "../storage/retry.ts";
import type { SagaContext, SagaLogEntry, SagaStorage, SagaStorageRun, StoredSagaState } from "./contract.ts";
import { PendingSaga } from "./pending-saga.ts";
import { insertLines } from "../sagas/journal/line-queries.ts";
import { selectLogs, selectSaga } from "../sagas/journal/queries.ts";
import { SqlRun } from "./sql-run.ts";
import {
  insertContractSaga,
  selectForRecovery,
  updateContractSaga,
  setRecoveries,
} from "../sagas/journal/contract-queries.ts";

/** The storage contract on Amends' own tables. It creates them on first use. */
export class SqlSagaStorage implements SagaStorage {
  readonly #db: Database;
  #ready: Promise<unknown> | undefined;

  constructor(database: Database) {
    this.#db = database;
  }

  async createSaga(sagaId: string, name: string, context: SagaContext): Promise<void> {
    await this.#write([PendingSaga.create(sagaId, name, context, this.#nowMs())]);
  }

  async updateContext(sagaId: string, context: SagaContext, currentVersion?: number): Promise<void> {
    await this.#change(sagaId, (saga) => saga.updateContext(context, currentVersion));
  }

  async updateStatus(sagaId: string, status: SagaStatus): Promise<void> {
    await this.#change(sagaId, (saga) => saga.updateStatus(status));
  }

  /** Adds a line to the history. */
  async logStep(
    sagaId: string,
    stepName: string,
    action: Direction,
    status: EntryStatus,
    details?: string | null,
  ): Promise<void> {
    await this.#change(sagaId, (saga) => saga.logStep(stepName, action, status, details));
  }

  async loadSagaState(sagaId: string): Promise<StoredSagaState> {
    return (await this.#read(sagaId)).state;
  }

  async getStepHistory(sagaId: string): Promise<readonly SagaLogEntry[]> {
    return (await this.#read(sagaId)).history;
  }

  async getSagasForRecovery(
    limit: number,
    maxRecoveryAttempts: number = 5,
    staleAfterSeconds?: number,
    sagaName?: string,
  ): Promise<readonly string[]> {
    if (!Number.isInteger(limit) || limit < 0) {
      throw new AmendsError("BAD_OPTION", "A limit is a whole number, 0 or more.");
    }
    await this.#prepare();
    const staleMs = staleAfterSeconds === undefined ? undefined : staleAfterSeconds * 1_000;
    const filter = { limit, maxRecoveryAttempts, staleMs, name: sagaName };
    const rows = await persist(this.#db, () => this.#db.query(selectForRecovery(this.#db.dialect, filter)));
    return rows.map((row) => row["id"] as string);
  }

  async incrementRecoveryAttempts(sagaId: string, newStatus?: SagaStatus): Promise<void> {
    await this.#change(sagaId, (saga) => {
      saga.setRecoveryAttempts(saga.recoveryAttempts + 1);
      if (newStatus !== undefined) saga.updateStatus(newStatus);
    });
  }

  async setRecoveryAttempts(sagaId: string, attempts: number): Promise<void> {
    await this.#transaction(async (session) => {
      const saga = await lockSaga(session, sagaId);
      saga.setRecoveryAttempts(attempts, true);
      // A saga that Amends runs keeps its status and its log: only claims of it change.
      if (saga.isEngines) await session.query(setRecoveries(session.dialect, sagaId, attempts));
      else await save(session, saga);
    });
  }

  /** Runs work whose changes become durable together at each `commit`. */
  async createRun<T>(work: (run: SagaStorageRun) => Promise<T>): Promise<T> {
    const run = new SqlRun({
      read: (id) => this.#read(id),
      write: (pending) => this.#write(pending),
      nowMs: () => this.#nowMs(),
    });
    return work(run);
  }

  async #read(id: string): Promise<PendingSaga> {
    await this.#prepare();
    const { dialect } = this.#db;
    const statements = [selectSaga(dialect, id, false), selectLogs(dialect, [id])];
    const [rows, lines] = await persist(this.#db, () => this.#db.batch(statements));
    const [row] = rows as readonly Row[];
    if (!row) throw notFound(id);
    return PendingSaga.of(row, lines);
  }

  /** Reads the saga under its lock, and writes the result of `change`. */
  async #change(id: string, change: (saga: PendingSaga) => void): Promise<void> {
    await this.#transaction(async (session) => {
      const saga = await lockSaga(session, id);
      change(saga);
      await save(session, saga);
    });
  }

  async #write(pending: readonly PendingSaga[]): Promise<void> {
    // Every run of every process locks rows in this order, which avoids deadlocks.
    const ordered = pending.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    await this.#transaction(async (session) => {
      for (const saga of ordered) await save(session, saga);
    });
  }

  /** Retries work that was certainly not committed. If the answer to a commit was lost, the caller must check. */
  async #transaction(work: (session: Session) => Promise<void>): Promise<void> {
    await this.#prepare();
    await persist(this.#db, async () => {
      let isSent = false;
      try {
        await this.#db.transaction(async (session) => {
          await work(session);
          isSent = true;
        });
      } catch (error) {
        if (isSent && this.#db.dialect.trouble(error).kind === "unknown") throw inDoubt(error);
        throw error;
      }
    });
  }

  /** Only for reads inside a run before it commits: written rows get the database's time. */
  #nowMs(): number {
    return (this.#db.clock.virtualNowMs ?? Date.now)();
  }

  /** Creates missing tables on first use, if the database user has the right to. */
  #prepare(): Promise<unknown> {
    this.#ready ??= this.#makeTables().catch((error: unknown) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  async #makeTables(): Promise<void> {
    try {
      await checkSchema(this.#db);
    } catch (error) {
      if (!(error instanceof AmendsError) || error.code !== "SCHEMA_MISSING") throw error;
      await migrate(this.#db);
    }
  }
}

async function save(session: Session, saga: PendingSaga): Promise<void> {
  const { id, base, added } = saga;
  const isNew = base === 0;
  const statement = isNew ? insertContractSaga : updateContractSaga;
  const [written] = await session.query(statement(session.dialect, saga));
  if (!written && isNew)
    throw new AmendsError("SAGA_CONFLICT", "A saga with this id exists already.", { id });
  if (!written) {
    const [row] = await session.query(selectSaga(session.dialect, id, false));
    if (!row) throw notFound(id);
    throw new SagaConcurrencyError(id, base, Number(row["version"]));
  }
  if (added.length === 0) return;
  const lines = added.map((entry) => ({ sagaId: id, version: entry.id, token: 0, entry }));
  await session.query(insertLines(session.dialect, lines));
}

function notFound(id: string): AmendsError {
  return new AmendsError("SAGA_NOT_FOUND", "There is no saga with this id.", { id });
}

function inDoubt(cause: unknown): AmendsError {
  return new AmendsError(
    "DATABASE_UNREACHABLE",
    "The connection was lost during the commit, so the change may or may not have been written. Load the saga and check.",
    {},
    { cause },
  );
}

async function lockSaga(session: Session, id: string): Promise<PendingSaga> {
  const [row] = await session.query(selectSaga(session.dialect, id, true));
  if (!row) throw notFound(id);
  return PendingSaga.of(row);
}
