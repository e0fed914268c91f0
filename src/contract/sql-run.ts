/**
 * A run of the SQL storage. It collects changes in pending sagas, and a commit writes them in one transaction, if no
 * other run has changed those sagas in the meantime. Between two calls it holds no transaction and no connection, except
 * after a read for update, which locks the saga's row until the run commits, rolls back or ends.
 */
import { AmendsError, SagaConcurrencyError } from "../core/errors.ts";
import type { Direction } from "../core/identity.ts";
import type { EntryStatus } from "../core/saga/entry.ts";
import type { SagaStatus } from "../core/saga/machine.ts";
import type { SagaContext, SagaLogEntry, SagaStorageRun, StoredSagaState } from "./contract.ts";
import { PendingSaga } from "./pending-saga.ts";
import type { RowLocks } from "./row-locks.ts";
import type { LockingRun } from "../storage/open-work.ts";

export interface RunTools {
  read(id: string): Promise<PendingSaga>;
  /** All of them or none. */
  write(pending: readonly PendingSaga[]): Promise<void>;
  readonly locks: RowLocks;
  nowMs(): number;
}

export class SqlRun implements SagaStorageRun, LockingRun {
  readonly #tools: RunTools;
  readonly #locks: RowLocks;
  /** Sagas that this run changed or read for update: no other run may have changed them since. */
  readonly #pending = new Map<string, PendingSaga>();
  /** The last call that uses the database: they follow each other, so that no statement outlives its transaction. */
  #last: Promise<unknown> = Promise.resolve();
  /** Reads for update that are under way. */
  #asking = 0;
  #hasEnded = false;

  constructor(tools: RunTools) {
    this.#tools = tools;
    this.#locks = tools.locks;
  }

  get isLocking(): boolean {
    return this.#asking > 0 || this.#locks.isOpen;
  }

  async createSaga(sagaId: string, name: string, context: SagaContext): Promise<void> {
    const saga = PendingSaga.create(sagaId, name, context, this.#tools.nowMs());
    if (await this.#exists(sagaId)) {
      throw new AmendsError("SAGA_CONFLICT", "A saga with this id exists already.", { id: sagaId });
    }
    this.#pending.set(sagaId, saga);
  }

  async updateContext(sagaId: string, context: SagaContext, currentVersion?: number): Promise<void> {
    (await this.#hold(sagaId)).updateContext(context, currentVersion);
  }

  async updateStatus(sagaId: string, status: SagaStatus): Promise<void> {
    (await this.#hold(sagaId)).updateStatus(status);
  }

  async logStep(
    sagaId: string,
    stepName: string,
    action: Direction,
    status: EntryStatus,
    details?: string | null,
  ): Promise<void> {
    (await this.#hold(sagaId)).logStep(stepName, action, status, details);
  }

  async loadSagaState(
    sagaId: string,
    options: { readonly readForUpdate?: boolean } = {},
  ): Promise<StoredSagaState> {
    return (await (options.readForUpdate ? this.#lock(sagaId) : this.#look(sagaId))).state;
  }

  async getStepHistory(sagaId: string): Promise<readonly SagaLogEntry[]> {
    return (await this.#look(sagaId)).history;
  }

  async commit(): Promise<void> {
    await this.#inTurn(async () => {
      this.#locks.checkHeld();
      const changed = [...this.#pending.values()].filter((saga) => saga.version !== saga.base);
      if (this.#locks.isOpen) await this.#locks.commit(changed);
      else if (changed.length > 0) await this.#tools.write(changed);
      this.#pending.clear();
    });
  }

  async rollback(): Promise<void> {
    await this.#inTurn(async () => {
      await this.#locks.release();
      this.#pending.clear();
    });
  }

  /** Releases what the run holds. Called once, when the work of the run is over. */
  async end(): Promise<void> {
    this.#hasEnded = true;
    await this.rollback();
  }

  async #look(id: string): Promise<PendingSaga> {
    this.#locks.checkHeld();
    const pending = this.#pending.get(id);
    if (pending) return pending;
    return this.#inTurn(() => (this.#locks.isOpen ? this.#locks.read(id) : this.#tools.read(id)));
  }

  async #hold(id: string): Promise<PendingSaga> {
    const saga = await this.#look(id);
    // Another call of this run may have read it first: a run has one pending copy of a saga.
    const held = this.#pending.get(id) ?? saga;
    this.#pending.set(id, held);
    return held;
  }

  async #lock(id: string): Promise<PendingSaga> {
    if (this.#hasEnded) throw hasEnded(id);
    this.#asking += 1;
    try {
      return await this.#inTurn(() => this.#lockNow(id));
    } finally {
      this.#asking -= 1;
    }
  }

  async #lockNow(id: string): Promise<PendingSaga> {
    this.#locks.checkHeld();
    const held = this.#pending.get(id);
    // No other run sees a saga that this run has created and not committed.
    if (held && (held.base === 0 || this.#locks.has(id))) return held;
    const locked = await this.#locks.lock(id);
    const saga = this.#pending.get(id) ?? locked;
    if (saga.base !== locked.base) throw new SagaConcurrencyError(id, saga.base, locked.base);
    this.#pending.set(id, saga);
    return saga;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async #exists(id: string): Promise<boolean> {
    try {
      return (await this.#look(id)) !== undefined;
    } catch (error) {
      if (error instanceof AmendsError && error.code === "SAGA_NOT_FOUND") return false;
      throw error;
    }
  }
}

function hasEnded(id: string): AmendsError {
  return new AmendsError(
    "NOT_ALLOWED_NOW",
    "This run has ended, so it can lock no saga. Read for update before the work of the run returns.",
    { id },
  );
}
