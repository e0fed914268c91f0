/**
 * Runs the engine on a custom storage. The context holds the whole log, and its optimistic lock is the fence: a
 * checkpoint is one `updateContext` with the version that was read. History and status are written after it, in the
 * same commit if the storage has `createRun`; otherwise the worker that claims the saga next completes them.
 *
 * A custom storage has no clock to query, so waits use the clock of this process. Ownership of a saga does not: it
 * depends on the version and on how long, by the storage, the saga has not changed.
 */
import { claimCount, claimToken } from "../core/claim-token.ts";
import { draw } from "../storage/draw.ts";
import type { Submission } from "../storage/write/group-writer.ts";
import { AmendsError } from "../core/errors.ts";
import type { Entry } from "../core/saga/entry.ts";
import { openingLines } from "../core/saga/steps/group.ts";
import { CLAIMABLE, sagaMachine, type SagaStatus } from "../core/saga/machine.ts";
import { evolve } from "../core/saga/evolve.ts";
import type { SagaOperations, SagaStorage } from "./contract.ts";
import { claimLines } from "../sagas/journal/claim/take-over.ts";
import { EXCLUDED_FROM } from "../sagas/journal/contract-queries.ts";
import { codeOf, fenced } from "./fence.ts";
import {
  OPERATOR_TOKEN,
  type Checkpoint,
  type OperatorLine,
  type Journal,
  type Kind,
  type NewSaga,
  type RenewedClaim,
  type SagaRecord,
} from "../sagas/journal/journal.ts";
import {
  givenBack,
  linesOf,
  newStoredSaga,
  readStoredSaga,
  type StoredSaga,
  type Loaded,
} from "./stored-saga.ts";

/** The worker needs all open sagas: the storage does not know which are due. */
const NO_LIMIT = 1_000_000;

/** Amends counts recoveries in the context. In the storage it leaves this many free, so that a person can exclude any saga. */
const COUNTED_MAX = EXCLUDED_FROM - 1;

/** How often, within one lease, a saga that another process has is looked at again. */
const LOOKS_PER_LEASE = 8;

/** The lines to write, usually one, and the changes that go with them. */
interface Line {
  readonly entries: readonly Entry[];
  readonly token: number;
  readonly status: SagaStatus;
  readonly changes: Partial<StoredSaga>;
  /** Written by the worker that wrote the lines before it. */
  readonly isOwn?: boolean;
}

export class ContractJournal implements Journal {
  readonly keepsEvents = false;
  /** A custom storage finds sagas by their ids alone. */
  readonly family = undefined;
  readonly #storage: SagaStorage;
  readonly #now: () => number;
  /** When to check sagas again that were not due: the storage has no query for due sagas. */
  #notBefore = new Map<string, number>();

  constructor(storage: SagaStorage, now: () => number = Date.now) {
    this.#storage = storage;
    this.#now = now;
  }

  async create(saga: NewSaga): Promise<boolean> {
    const kept = newStoredSaga(saga, this.#now());
    try {
      await this.#commit(async (on) => {
        await on.createSaga(saga.id, saga.name, { ...kept });
        if (!kept.begun) return;
        const names = [saga.plan[0]?.name as string, ...openingLines(saga.plan).map(({ step }) => step)];
        for (const name of names) await on.logStep(saga.id, name, "act", "STARTED");
        await on.updateStatus(saga.id, "RUNNING");
      });
      return true;
    } catch (error) {
      // The saga exists, or part of it was written: the caller reads the stored state.
      if (await this.#find(saga.id)) return false;
      throw error;
    }
  }

  createAllNow(): never {
    throw notSupported("join a transaction");
  }

  async createAll(): Promise<never> {
    throw notSupported("start several sagas in one commit");
  }

  async appendIn(): Promise<boolean> {
    throw notSupported("run a step in a transaction");
  }

  append(submission: Submission<Checkpoint, boolean>): void {
    this.#append(submission.item).then(
      (isWritten) => submission.written(isWritten),
      (error: unknown) => submission.failed(error),
    );
  }

  async #append(checkpoint: Checkpoint): Promise<boolean> {
    const { sagaId, token, version, entry, more = [], emissions, move, state } = checkpoint;
    if (emissions.length > 0) throw notSupported("keep the events that a step emits");
    const found = await this.#find(sagaId);
    // A claim writes a line too, so the version of the worker that lost the saga is outdated.
    if (found?.record.version !== version - 1) return false;
    const { status } = state;
    const isGone = move?.releaseMs !== undefined || !CLAIMABLE.includes(status);
    const changes: Partial<StoredSaga> = {
      ...(isGone && givenBack(status, this.#now() + (move?.releaseMs ?? 0))),
      ...(move?.recovered && { recoveries: 0 }),
      ...(move?.progress !== undefined && { progress: move.progress }),
    };
    const entries = [entry, ...more];
    if (!(await this.#write(sagaId, found, { entries, token, status, changes, isOwn: true }))) return false;
    this.#notBefore.delete(sagaId);
    if (move?.recovered && !sagaMachine.isTerminal(status) && (await this.#isBelow(EXCLUDED_FROM, found)))
      await this.#storage.setRecoveryAttempts(sagaId, 0);
    return true;
  }

  async load(id: string): Promise<SagaRecord | undefined> {
    return (await this.#find(id))?.record;
  }

  async claim(
    kinds: readonly Kind[],
    limit: number,
    owner: string,
    leaseMs: number,
    except: readonly string[] = [],
  ): Promise<readonly SagaRecord[]> {
    const taken: SagaRecord[] = [];
    const seen = new Set<string>();
    for (const name of new Set(kinds.map((kind) => kind.name))) {
      const stale = new Set(await this.#open(name, leaseMs));
      for (const id of await this.#open(name)) {
        if (taken.length >= limit) return taken;
        seen.add(id);
        if (except.includes(id)) continue;
        if (!stale.has(id) && (this.#notBefore.get(id) ?? 0) > this.#now()) continue;
        try {
          const record = await this.#take(id, kinds, owner, leaseMs);
          if (record) taken.push(record);
        } catch (error) {
          // Sagas that were claimed before belong to this worker and must run.
          if (taken.length > 0) return taken;
          throw error;
        }
      }
    }
    for (const id of this.#notBefore.keys()) if (!seen.has(id)) this.#notBefore.delete(id);
    return taken;
  }

  async #take(
    id: string,
    kinds: readonly Kind[],
    owner: string,
    leaseMs: number,
  ): Promise<SagaRecord | undefined> {
    const found = await this.#find(id);
    if (!found) return undefined;
    const { kept, record } = found;
    const isKnown = kinds.some(({ name, version }) => name === kept.name && version === kept.definition);
    if (!isKnown || !(await this.#isDue(found, leaseMs))) {
      const lookAtMs = this.#now() + leaseMs / LOOKS_PER_LEASE; // another process may release or cancel it
      this.#notBefore.set(id, Math.min(lookAtMs, kept.dueAtMs ?? lookAtMs));
      return undefined;
    }
    this.#notBefore.delete(id);
    if (sagaMachine.isTerminal(record.state.status)) {
      // The last checkpoint was written, but the status was not.
      await this.#write(id, found, undefined);
      return undefined;
    }
    const isLost = kept.owner !== null;
    const token = claimToken(claimCount(kept.token) + 1, draw());
    const entries = claimLines(record, owner, kept.token > 0);
    const changes = { owner, token, dueAtMs: null, recoveries: kept.recoveries + (isLost ? 1 : 0) };
    const { status } = entries.reduce(evolve, record.state);
    if (!(await this.#write(id, found, { entries, token, status, changes }))) return undefined;
    if (isLost && (await this.#isBelow(COUNTED_MAX, found)))
      await this.#storage.incrementRecoveryAttempts(id);
    return this.load(id);
  }

  /** Checked after the load: the version detects a later change, this check detects an earlier one. */
  async #isDue({ kept, record }: Loaded, leaseMs: number): Promise<boolean> {
    if (kept.owner === null) return (kept.dueAtMs ?? 0) <= this.#now();
    return (await this.#open(kept.name, leaseMs)).includes(record.id);
  }

  /** Open sagas that `setRecoveryAttempts` has not excluded. */
  #open(name: string, staleMs?: number, attemptMax: number = EXCLUDED_FROM): Promise<readonly string[]> {
    const staleSeconds = staleMs === undefined ? undefined : staleMs / 1_000;
    return this.#storage.getSagasForRecovery(NO_LIMIT, attemptMax, staleSeconds, name);
  }

  /** Whether the storage has counted fewer recovery attempts of an open saga. The contract has no other way to read them. */
  async #isBelow(attempts: number, { kept, record }: Loaded): Promise<boolean> {
    return (await this.#open(kept.name, undefined, attempts)).includes(record.id);
  }

  async renew(holds: readonly RenewedClaim[]): Promise<ReadonlyMap<string, number>> {
    const versions = await Promise.all(holds.map((hold) => this.#renewOne(hold)));
    return new Map(holds.flatMap(({ id }, index) => (versions[index] ? [[id, versions[index]]] : [])));
  }

  /** Writes the same context again, with the progress of a saga that has not changed since, so that the storage records a change. */
  async #renewOne({ id, token, reported }: RenewedClaim): Promise<number | undefined> {
    for (;;) {
      const found = await this.#find(id);
      if (!found || found.kept.token !== token) return undefined;
      if (!CLAIMABLE.includes(found.record.state.status)) return undefined;
      const { context, version } = found.stored;
      const isNews = reported && found.record.version <= reported.version;
      const renewed = isNews ? { ...context, progress: reported.text } : context;
      const isHeld = await fenced(() => this.#storage.updateContext(id, renewed, version));
      if (isHeld) return found.record.version;
    }
  }

  async appendByOperator(
    id: string,
    decide: (record: SagaRecord) => OperatorLine | undefined,
  ): Promise<SagaRecord> {
    for (;;) {
      const found = await this.#find(id);
      if (!found) throw new AmendsError("SAGA_NOT_FOUND", "There is no saga with this id.", { id });
      const { kept, record } = found;
      const decided = decide(record);
      if (!decided) return record;
      const { entry } = decided;
      const { status } = evolve(record.state, entry);
      const isRunning = kept.owner !== null && status === record.state.status;
      const changes = isRunning
        ? {}
        : {
            ...givenBack(status, this.#now()),
            recoveries: 0,
            ...(kept.progress && sagaMachine.isTerminal(status) && { progress: null }),
          };
      const line = { entries: [entry], token: OPERATOR_TOKEN, status, changes };
      if (!(await this.#write(id, found, line))) continue;
      this.#notBefore.delete(id);
      return (await this.load(id)) ?? record;
    }
  }

  /** Registration refuses sagas that wait for signals or events. */
  arrivals(): Promise<readonly never[]> {
    return Promise.resolve([]);
  }

  drained(): Promise<void> {
    return Promise.resolve();
  }

  /** False if another writer was faster: nothing was written. */
  #write(id: string, { stored, kept, record }: Loaded, line: Line | undefined): Promise<boolean> {
    const atMs = this.#now();
    const added = (line?.entries ?? []).map((entry, index) => {
      return { ...entry, id: record.version + 1 + index, token: line?.token as number, atMs };
    });
    const log = added.length > 0 ? [...kept.log, ...added] : kept.log;
    const mayLack = !line?.isOwn || stored.status !== record.state.status;
    return fenced(() =>
      this.#commit(async (on) => {
        await on.updateContext(id, { ...kept, ...line?.changes, log }, stored.version);
        // The previous writer may have crashed between two calls: complete history and status from the log.
        const due = linesOf({ ...record, entries: log });
        const there = mayLack ? (await on.getStepHistory(id)).length : linesOf(record).length;
        for (const { step, action, status, details } of due.slice(there)) {
          await on.logStep(id, step, action, status, details);
        }
        let current = stored.status;
        for (const status of [record.state.status, line?.status ?? record.state.status]) {
          if (status !== current) await on.updateStatus(id, status);
          current = status;
        }
      }),
    );
  }

  async #find(id: string): Promise<Loaded | undefined> {
    try {
      return readStoredSaga(id, await this.#storage.loadSagaState(id), this.#now());
    } catch (error) {
      if (codeOf(error) === "SAGA_NOT_FOUND") return undefined;
      throw error;
    }
  }

  async #commit(work: (on: SagaOperations) => Promise<void>): Promise<void> {
    if (!this.#storage.createRun) return work(this.#storage);
    await this.#storage.createRun(async (run) => {
      await work(run);
      await run.commit();
    });
  }
}

function notSupported(what: string): AmendsError {
  return new AmendsError(
    "NOT_SUPPORTED",
    `A custom \`storage\` cannot ${what}. Use \`postgres\` or \`sqlite\` for that.`,
  );
}
