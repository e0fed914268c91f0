/** A storage as a user may write it: every run works on a copy of what it touches, and a commit puts the copies back. */
import { AmendsError, type SagaStatus } from "amends";
import {
  SagaConcurrencyError,
  mayBecome,
  type SagaContext,
  type SagaLogEntry,
  type SagaOperations,
  type SagaStorage,
  type SagaStorageRun,
  type StoredSagaState,
} from "amends/storage";

interface Saga {
  name: string;
  status: SagaStatus;
  context: string;
  version: number;
  attempts: number;
  changedAt: number;
  history: SagaLogEntry[];
}

type Sagas = Map<string, Saga>;

export class RunningMapStorage implements SagaStorage {
  readonly #sagas: Sagas = new Map();
  readonly #now: () => number;
  readonly #own: SagaOperations;

  constructor(now: () => number = Date.now) {
    this.#now = now;
    this.#own = operations(
      now,
      (id) => this.#sagas.get(id),
      (id, saga) => this.#sagas.set(id, saga),
    );
  }

  createSaga: SagaStorage["createSaga"] = (...given) => this.#own.createSaga(...given);
  updateContext: SagaStorage["updateContext"] = (...given) => this.#own.updateContext(...given);
  updateStatus: SagaStorage["updateStatus"] = (...given) => this.#own.updateStatus(...given);
  logStep: SagaStorage["logStep"] = (...given) => this.#own.logStep(...given);
  loadSagaState: SagaStorage["loadSagaState"] = (...given) => this.#own.loadSagaState(...given);
  getStepHistory: SagaStorage["getStepHistory"] = (...given) => this.#own.getStepHistory(...given);

  async getSagasForRecovery(limit: number, max = 5, staleSeconds?: number, name?: string): Promise<string[]> {
    const since = staleSeconds === undefined ? Infinity : this.#now() - staleSeconds * 1_000;
    return [...this.#sagas]
      .filter(([, { status }]) => status === "PENDING" || status === "RUNNING" || status === "COMPENSATING")
      .filter(
        ([, saga]) => saga.attempts < max && saga.changedAt <= since && saga.name === (name ?? saga.name),
      )
      .toSorted(([, a], [, b]) => a.attempts - b.attempts || a.changedAt - b.changedAt)
      .slice(0, limit)
      .map(([id]) => id);
  }

  async incrementRecoveryAttempts(id: string, status?: SagaStatus): Promise<void> {
    const saga = found(this.#sagas.get(id));
    this.#sagas.set(
      id,
      changed(saga, this.#now(), { attempts: saga.attempts + 1, status: status ?? saga.status }),
    );
  }

  async setRecoveryAttempts(id: string, attempts: number): Promise<void> {
    if (!Number.isInteger(attempts) || attempts < 0) throw new AmendsError("BAD_OPTION", "not a count");
    this.#sagas.set(id, changed(found(this.#sagas.get(id)), this.#now(), { attempts }));
  }

  async createRun<T>(work: (run: SagaStorageRun) => Promise<T>): Promise<T> {
    const copies: Sagas = new Map();
    const bases = new Map<string, number>();
    const base = (id: string): number => this.#sagas.get(id)?.version ?? 0;
    const hold = (id: string): void => {
      if (!bases.has(id)) bases.set(id, base(id));
    };
    const own = operations(
      this.#now,
      (id) => copies.get(id) ?? this.#sagas.get(id),
      (id, saga) => {
        hold(id);
        copies.set(id, saga);
      },
    );
    const rollback = async (): Promise<void> => {
      copies.clear();
      bases.clear();
    };
    return work({
      ...own,
      loadSagaState: (id, options) => {
        if (options?.readForUpdate) hold(id);
        return own.loadSagaState(id);
      },
      commit: async () => {
        for (const id of copies.keys()) {
          const [expected = 0, now] = [bases.get(id), base(id)];
          if (expected === 0 && now > 0) throw new AmendsError("SAGA_CONFLICT", "exists");
          if (expected !== now) throw new SagaConcurrencyError(id, expected, now);
        }
        for (const [id, saga] of copies) this.#sagas.set(id, saga);
        await rollback();
      },
      rollback,
    });
  }
}

/** Sagas are never changed in place: each change is a new object, put where `set` puts it. */
function operations(
  now: () => number,
  get: (id: string) => Saga | undefined,
  set: (id: string, saga: Saga) => void,
): SagaOperations {
  const change = (id: string, by: (saga: Saga) => Partial<Saga>): void => {
    const saga = found(get(id));
    set(id, changed(saga, now(), by(saga)));
  };
  return {
    async createSaga(id, name, context) {
      if (get(id)) throw new AmendsError("SAGA_CONFLICT", "exists");
      const fresh = { version: 1, attempts: 0, changedAt: now(), history: [] };
      set(id, { name, status: "PENDING", context: JSON.stringify(context), ...fresh });
    },
    async updateContext(id, context, version) {
      const saga = found(get(id));
      if ((version ?? saga.version) !== saga.version)
        throw new SagaConcurrencyError(id, version ?? 0, saga.version);
      change(id, () => ({ context: JSON.stringify(context) }));
    },
    async updateStatus(id, status) {
      change(id, () => ({ status }));
    },
    async logStep(sagaId, stepName, action, status, details = null) {
      change(sagaId, ({ history }) => {
        const entry = {
          id: history.length,
          sagaId,
          stepName,
          action,
          status,
          details,
          createdAt: new Date(now()),
        };
        return { history: [...history, entry] };
      });
    },
    async loadSagaState(id): Promise<StoredSagaState> {
      const { status, context, version } = found(get(id));
      return { status, context: JSON.parse(context) as SagaContext, version };
    },
    async getStepHistory(id) {
      return found(get(id)).history;
    },
  };
}

function found(saga: Saga | undefined): Saga {
  if (!saga) throw new AmendsError("SAGA_NOT_FOUND", "nobody");
  return saga;
}

function changed(saga: Saga, changedAt: number, change: Partial<Saga>): Saga {
  if (!mayBecome(saga.status, change.status ?? saga.status))
    throw new AmendsError("NOT_ALLOWED_NOW", "no arrow");
  return { ...saga, ...change, version: saga.version + 1, changedAt };
}
