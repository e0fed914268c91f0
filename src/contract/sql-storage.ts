/** The storage contract on Amends' own tables. The engine does not use it: it writes checkpoints in groups. */
import { AmendsError } from "../core/errors.ts";
import type { Direction } from "../core/identity.ts";
import type { EntryStatus } from "../core/saga/entry.ts";
import type { SagaStatus } from "../core/saga/machine.ts";
import type { Database, Row, Session } from "../storage/database.ts";
import { checkSchema, migrate } from "../storage/migrations/migrate.ts";
import { insideRun, outsideRuns, refuseInsideLocked, type LockingRun } from "../storage/open-work.ts";
import { persist } from "../storage/retry.ts";
import type { SagaContext, SagaLogEntry, SagaStorage, SagaStorageRun, StoredSagaState } from "./contract.ts";
import { PendingSaga } from "./pending-saga.ts";
import { RowLocks } from "./row-locks.ts";
import { inDoubt, lockSaga, notFound, save, saveAll } from "./saga-rows.ts";
import { selectLogs, selectSaga } from "../sagas/journal/queries.ts";
import { SqlRun } from "./sql-run.ts";
import { selectForRecovery, setRecoveries } from "../sagas/journal/contract-queries.ts";

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
    const staleMs = staleAfterSeconds === undefined ? undefined : staleAfterSeconds * 1_000;
    const filter = { limit, maxRecoveryAttempts, staleMs, name: sagaName };
    const rows = await this.#persist(() => this.#db.query(selectForRecovery(this.#db.dialect, filter)));
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

  /**
   * Runs work whose changes become durable together at each `commit`. After a read for update the run holds a
   * connection until it commits, rolls back or ends; until then, calls of the storage itself inside `work` are refused
   * with `NOT_ALLOWED_NOW`.
   */
  async createRun<T>(work: (run: SagaStorageRun) => Promise<T>): Promise<T> {
    refuseInsideLocked(this.#db);
    const run: SqlRun = new SqlRun({
      read: (id) => this.#read(id, run),
      write: (pending) => this.#write(pending, run),
      locks: new RowLocks(this.#db, (open) => this.#persist(open, run)),
      nowMs: () => this.#nowMs(),
    });
    return insideRun(this.#db, run, async () => {
      try {
        return await work(run);
      } finally {
        await run.end();
      }
    });
  }

  async #read(id: string, by?: LockingRun): Promise<PendingSaga> {
    const { dialect } = this.#db;
    const statements = [selectSaga(dialect, id, false), selectLogs(dialect, [id])];
    const [rows, lines] = await this.#persist(() => this.#db.batch(statements), by);
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

  async #write(pending: readonly PendingSaga[], by?: LockingRun): Promise<void> {
    await this.#transaction((session) => saveAll(session, pending), by);
  }

  /** Retries work that was certainly not committed. If the answer to a commit was lost, the caller must check. */
  async #transaction(work: (session: Session) => Promise<void>, by?: LockingRun): Promise<void> {
    await this.#persist(async () => {
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
    }, by);
  }

  /** Every use of the database. `by` is the run that asks, if it is not the storage itself. */
  async #persist<T>(work: () => Promise<T>, by?: LockingRun): Promise<T> {
    refuseInsideLocked(this.#db, by);
    await outsideRuns(() => this.#prepare());
    return persist(this.#db, () => {
      // Again at each attempt: the run may have locked a row since the last one.
      refuseInsideLocked(this.#db, by);
      return outsideRuns(work);
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
