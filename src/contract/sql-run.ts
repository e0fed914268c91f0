/**
 * A run of the SQL storage. Between two calls it holds no transaction and no connection: it collects changes in pending
 * sagas, and a commit writes them in one transaction, if no other run has changed those sagas in the meantime.
 */
import { AmendsError } from "../core/errors.ts";
import type { Direction } from "../core/identity.ts";
import type { EntryStatus } from "../core/saga/entry.ts";
import type { SagaStatus } from "../core/saga/machine.ts";
import type { SagaContext, SagaLogEntry, SagaStorageRun, StoredSagaState } from "./contract.ts";
import { PendingSaga } from "./pending-saga.ts";

export interface RunTools {
  read(id: string): Promise<PendingSaga>;
  /** All of them or none. */
  write(pending: readonly PendingSaga[]): Promise<void>;
  nowMs(): number;
}

export class SqlRun implements SagaStorageRun {
  readonly #tools: RunTools;
  /** Sagas that this run changed or read for update: no other run may have changed them since. */
  readonly #pending = new Map<string, PendingSaga>();

  constructor(tools: RunTools) {
    this.#tools = tools;
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
    return (await (options.readForUpdate ? this.#hold(sagaId) : this.#look(sagaId))).state;
  }

  async getStepHistory(sagaId: string): Promise<readonly SagaLogEntry[]> {
    return (await this.#look(sagaId)).history;
  }

  async commit(): Promise<void> {
    const changed = [...this.#pending.values()].filter((saga) => saga.version !== saga.base);
    if (changed.length > 0) await this.#tools.write(changed);
    this.#pending.clear();
  }

  async rollback(): Promise<void> {
    this.#pending.clear();
  }

  async #look(id: string): Promise<PendingSaga> {
    return this.#pending.get(id) ?? this.#tools.read(id);
  }

  async #hold(id: string): Promise<PendingSaga> {
    const saga = await this.#look(id);
    // Another call of this run may have read it first: a run has one pending copy of a saga.
    const held = this.#pending.get(id) ?? saga;
    this.#pending.set(id, held);
    return held;
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
