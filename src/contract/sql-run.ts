/**
 * A run of the SQL storage. Between two of its calls nothing is held, no transaction and no connection: changes gather
 * in drafts, and a commit writes them in one transaction, provided that nobody changed those sagas meanwhile.
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
  write(drafts: readonly PendingSaga[]): Promise<void>;
  nowMs(): number;
}

export class SqlRun implements SagaStorageRun {
  readonly #tools: RunTools;
  /** What this run changed, or looked at in order to change it: since then nobody else may have. */
  readonly #drafts = new Map<string, PendingSaga>();

  constructor(tools: RunTools) {
    this.#tools = tools;
  }

  async createSaga(sagaId: string, name: string, context: SagaContext): Promise<void> {
    const draft = PendingSaga.create(sagaId, name, context, this.#tools.nowMs());
    if (await this.#exists(sagaId)) {
      throw new AmendsError("SAGA_CONFLICT", "A saga with this id exists already.", { id: sagaId });
    }
    this.#drafts.set(sagaId, draft);
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
    const changed = [...this.#drafts.values()].filter((draft) => draft.version !== draft.base);
    if (changed.length > 0) await this.#tools.write(changed);
    this.#drafts.clear();
  }

  async rollback(): Promise<void> {
    this.#drafts.clear();
  }

  async #look(id: string): Promise<PendingSaga> {
    return this.#drafts.get(id) ?? this.#tools.read(id);
  }

  async #hold(id: string): Promise<PendingSaga> {
    const draft = await this.#look(id);
    // Another call of this run may have been faster: one saga has one draft.
    const held = this.#drafts.get(id) ?? draft;
    this.#drafts.set(id, held);
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
