import { AmendsError, type SagaStatus } from "amends";
import {
  SagaConcurrencyError,
  mayBecome,
  type SagaContext,
  type SagaLogEntry,
  type SagaStorage,
  type StoredSagaState,
} from "amends/storage";

interface Stored {
  readonly name: string;
  status: SagaStatus;
  context: string;
  version: number;
  recoveryAttempts: number;
  updatedAt: number;
  readonly history: SagaLogEntry[];
}

/** Sagas in a Map. A storage of your own would ask its database instead; what it must refuse is the same. */
export class MapSagaStorage implements SagaStorage {
  readonly #sagas = new Map<string, Stored>();
  readonly #now: () => number;

  /** `now` is the clock of the storage: a test passes its virtual one. */
  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  async createSaga(sagaId: string, name: string, context: SagaContext): Promise<void> {
    if (this.#sagas.has(sagaId)) {
      throw new AmendsError("SAGA_CONFLICT", "A saga with this id exists already.");
    }
    this.#sagas.set(sagaId, {
      name,
      status: "PENDING",
      context: JSON.stringify(context),
      version: 1,
      recoveryAttempts: 0,
      updatedAt: this.#now(),
      history: [],
    });
  }

  async updateContext(sagaId: string, context: SagaContext, currentVersion?: number): Promise<void> {
    const saga = this.#find(sagaId);
    if (currentVersion !== undefined && currentVersion !== saga.version) {
      throw new SagaConcurrencyError(sagaId, currentVersion, saga.version);
    }
    this.#change(saga, { context: JSON.stringify(context) });
  }

  async updateStatus(sagaId: string, status: SagaStatus): Promise<void> {
    this.#change(this.#find(sagaId), { status });
  }

  async logStep(
    sagaId: string,
    stepName: string,
    action: SagaLogEntry["action"],
    status: SagaLogEntry["status"],
    details: string | null = null,
  ): Promise<void> {
    const saga = this.#find(sagaId);
    this.#change(saga, {});
    const id = saga.history.length + 1;
    saga.history.push({ id, sagaId, stepName, action, status, details, createdAt: new Date(this.#now()) });
  }

  async loadSagaState(sagaId: string): Promise<StoredSagaState> {
    const { status, context, version } = this.#find(sagaId);
    return { status, context: JSON.parse(context) as SagaContext, version };
  }

  async getStepHistory(sagaId: string): Promise<readonly SagaLogEntry[]> {
    return [...this.#find(sagaId).history];
  }

  async getSagasForRecovery(
    limit: number,
    maxRecoveryAttempts: number = 5,
    staleAfterSeconds?: number,
    sagaName?: string,
  ): Promise<readonly string[]> {
    const untouchedSince =
      staleAfterSeconds === undefined ? Infinity : this.#now() - staleAfterSeconds * 1_000;
    return [...this.#sagas]
      .filter(([, saga]) => ["PENDING", "RUNNING", "COMPENSATING"].includes(saga.status))
      .filter(([, saga]) => saga.recoveryAttempts < maxRecoveryAttempts && saga.updatedAt <= untouchedSince)
      .filter(([, saga]) => sagaName === undefined || saga.name === sagaName)
      .toSorted(([, a], [, b]) => a.recoveryAttempts - b.recoveryAttempts || a.updatedAt - b.updatedAt)
      .slice(0, limit)
      .map(([id]) => id);
  }

  async incrementRecoveryAttempts(sagaId: string, newStatus?: SagaStatus): Promise<void> {
    const saga = this.#find(sagaId);
    const recoveryAttempts = saga.recoveryAttempts + 1;
    this.#change(saga, { recoveryAttempts, ...(newStatus && { status: newStatus }) });
  }

  async setRecoveryAttempts(sagaId: string, attempts: number): Promise<void> {
    if (!Number.isInteger(attempts) || attempts < 0) {
      throw new AmendsError("BAD_OPTION", "Recovery attempts are a whole number, 0 or more.");
    }
    this.#change(this.#find(sagaId), { recoveryAttempts: attempts });
  }

  #find(sagaId: string): Stored {
    const saga = this.#sagas.get(sagaId);
    if (!saga) throw new AmendsError("SAGA_NOT_FOUND", "There is no saga with this id.");
    return saga;
  }

  #change(saga: Stored, change: Partial<Stored>): void {
    const { status = saga.status } = change;
    if (!mayBecome(saga.status, status)) {
      throw new AmendsError("NOT_ALLOWED_NOW", `A saga that is ${saga.status} cannot become ${status}.`);
    }
    Object.assign(saga, change, { version: saga.version + 1, updatedAt: this.#now() });
  }
}
