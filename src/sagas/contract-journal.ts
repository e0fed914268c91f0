/**
 * Runs the engine on a storage of the user's own. The whole log is kept in the context, whose optimistic lock is the
 * fence: a checkpoint is one `updateContext` with the version that was read. The history and the status follow it, in
 * the same commit where the storage has `createRun`. Such a storage has no clock to ask, so waits use this process's,
 * and who owns a saga is decided by the version and by how long the storage says it was untouched.
 */
import { AmendsError, SagaConcurrencyError } from "../core/errors.ts";
import { control, type Entry } from "../core/saga/entry.ts";
import { decodePlan, encodePlan } from "../core/saga/plan.ts";
import { evolve } from "../core/saga/state.ts";
import { systemClock } from "../storage/clock.ts";
import type { SagaOperations, SagaStorage, StoredSagaState } from "./contract.ts";
import type { Checkpoint, Hold, Intrusion, Journal, Kind, LogEntry, NewSaga, SagaRecord } from "./journal.ts";
import { fold } from "./rows.ts";

/** What this journal keeps in a saga's context. */
interface Kept {
  readonly name: string;
  readonly definition: number;
  readonly input: unknown;
  readonly plan: string;
  readonly begun: boolean;
  readonly token: number;
  readonly owner: string | null;
  readonly recoveries: number;
  readonly createdAtMs: number;
  readonly dueAtMs: number;
  readonly deadlineAtMs: number | null;
  readonly log: readonly LogEntry[];
}

/** More than any budget: sagas that used theirs up are to be seen, and stalled. */
const NO_LIMIT = 1_000_000;

export class ContractJournal implements Journal {
  readonly #storage: SagaStorage;
  readonly #now: () => number;

  constructor(storage: SagaStorage, now: () => number = wallClockMs) {
    this.#storage = storage;
    this.#now = now;
  }

  async create(saga: NewSaga): Promise<boolean> {
    const first = saga.plan[0]?.name as string;
    const begun = saga.owner !== undefined;
    const kept = this.#newKept(saga, begun);
    try {
      await this.#commit(async (on) => {
        await on.createSaga(saga.id, saga.name, { ...kept });
        if (!begun) return;
        await on.updateStatus(saga.id, "RUNNING");
        await on.logStep(saga.id, first, "act", "STARTED");
      });
      return true;
    } catch (error) {
      if (await this.load(saga.id)) return false;
      throw error;
    }
  }

  createIn(): Promise<boolean> {
    throw notSupported("join a transaction");
  }

  appendIn(): Promise<boolean> {
    throw notSupported("run a step in a transaction");
  }

  async append({ sagaId, token, version, entry, emissions, move, state }: Checkpoint): Promise<boolean> {
    if (emissions.length > 0) throw notSupported("keep the events that a step emits");
    const found = await this.#storage.loadSagaState(sagaId);
    const kept = found.context as unknown as Kept;
    const record = this.#toRecord(sagaId, found);
    if (record.version !== version - 1 || kept.token !== token) return this.#isOurs(kept, version, token);
    const released = move?.releaseMs !== undefined || state.status === "STALLED";
    const next: Kept = {
      ...kept,
      log: [...kept.log, { ...entry, id: version, token, atMs: this.#now() }],
      ...(released && { owner: null, dueAtMs: this.#now() + (move?.releaseMs ?? 0) }),
      ...(move?.recovered && { recoveries: 0 }),
    };
    return this.#write(sagaId, found, next, entry, state.status);
  }

  async load(id: string): Promise<SagaRecord | undefined> {
    try {
      return this.#toRecord(id, await this.#storage.loadSagaState(id));
    } catch (error) {
      if (error instanceof AmendsError && error.code === "SAGA_NOT_FOUND") return undefined;
      throw error;
    }
  }

  async claim(
    kinds: readonly Kind[],
    limit: number,
    owner: string,
    leaseMs: number,
  ): Promise<readonly SagaRecord[]> {
    const taken: SagaRecord[] = [];
    for (const name of new Set(kinds.map((kind) => kind.name))) {
      const stale = new Set(
        await this.#storage.getSagasForRecovery(NO_LIMIT, NO_LIMIT, leaseMs / 1_000, name),
      );
      const open = await this.#storage.getSagasForRecovery(NO_LIMIT, NO_LIMIT, undefined, name);
      for (const id of open) {
        if (taken.length >= limit) return taken;
        const record = await this.#take(id, stale.has(id), kinds, owner);
        if (record) taken.push(record);
      }
    }
    return taken;
  }

  async #take(
    id: string,
    isStale: boolean,
    kinds: readonly Kind[],
    owner: string,
  ): Promise<SagaRecord | undefined> {
    const found = await this.#storage.loadSagaState(id);
    const kept = found.context as unknown as Kept;
    const { state, version, plan } = this.#toRecord(id, found);
    const isKnown = kinds.some((kind) => kind.name === kept.name && kind.version === kept.definition);
    const isDue = kept.owner === null ? kept.dueAtMs <= this.#now() : isStale;
    if (!isKnown || !isDue) return undefined;
    const first = state.status === "PENDING" && !state.cancel ? plan[0] : undefined;
    const entry: Entry = {
      ...control("$claim", { by: owner, kind: kept.token > 0 ? "again" : "first" }),
      ...(first && { next: { step: first.name, action: "act" as const } }),
    };
    const next: Kept = {
      ...kept,
      owner,
      token: kept.token + 1,
      recoveries: kept.recoveries + (kept.owner === null ? 0 : 1),
      log: [...kept.log, { ...entry, id: version + 1, token: kept.token + 1, atMs: this.#now() }],
    };
    const after = evolve(state, entry);
    if (!(await this.#write(id, found, next, entry, after.status))) return undefined;
    if (kept.owner !== null) await this.#storage.incrementRecoveryAttempts(id);
    return this.load(id);
  }

  async renew(holds: readonly Hold[]): Promise<ReadonlyMap<string, number>> {
    const held = new Map<string, number>();
    for (const { id, token } of holds) {
      const found = await this.#storage.loadSagaState(id);
      const { version, token: holder } = this.#toRecord(id, found);
      if (holder !== token) continue;
      // A checkpoint that came in between has renewed it just as well.
      await this.#storage.updateContext(id, found.context, found.version).catch(ignoreConflict);
      held.set(id, version);
    }
    return held;
  }

  async intrude(id: string, decide: (record: SagaRecord) => Intrusion | undefined): Promise<SagaRecord> {
    for (;;) {
      const found = await this.#storage.loadSagaState(id);
      const kept = found.context as unknown as Kept;
      const record = this.#toRecord(id, found);
      const intrusion = decide(record);
      if (!intrusion) return record;
      const { entry } = intrusion;
      const after = evolve(record.state, entry);
      const isRunning = kept.owner !== null && after.status === record.state.status;
      const next: Kept = {
        ...kept,
        log: [...kept.log, { ...entry, id: record.version + 1, token: -1, atMs: this.#now() }],
        ...(!isRunning && { owner: null, dueAtMs: this.#now(), recoveries: 0 }),
      };
      if (await this.#write(id, found, next, entry, after.status)) return (await this.load(id)) ?? record;
    }
  }

  drained(): Promise<void> {
    return Promise.resolve();
  }

  /** False where somebody else was faster: nothing was written. */
  async #write(
    id: string,
    found: StoredSagaState,
    next: Kept,
    entry: Entry,
    status: SagaRecord["state"]["status"],
  ): Promise<boolean> {
    try {
      await this.#commit(async (on) => {
        await on.updateContext(id, { ...next }, found.version);
        await on.logStep(id, entry.step, entry.action, entry.status, entry.details);
        if (entry.next) await on.logStep(id, entry.next.step, entry.next.action, "STARTED");
        if (status !== found.status) await on.updateStatus(id, status);
      });
      return true;
    } catch (error) {
      if (error instanceof SagaConcurrencyError) return false;
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

  #isOurs(kept: Kept, version: number, token: number): boolean {
    return kept.log.some((entry) => entry.id === version && entry.token === token);
  }

  #newKept(saga: NewSaga, begun: boolean): Kept {
    const now = this.#now();
    return {
      name: saga.name,
      definition: saga.definition,
      input: JSON.parse(saga.input),
      plan: encodePlan(saga.plan),
      begun,
      token: begun ? 1 : 0,
      owner: saga.owner ?? null,
      recoveries: 0,
      createdAtMs: now,
      dueAtMs: now,
      deadlineAtMs: saga.deadlineMs === undefined ? null : now + saga.deadlineMs,
      log: [],
    };
  }

  #toRecord(id: string, { context, status }: StoredSagaState): SagaRecord {
    const kept = context as unknown as Kept;
    if (typeof kept.plan !== "string") {
      throw new AmendsError(
        "NOT_SUPPORTED",
        "This saga was not started by Amends: its context is not one that it can run.",
        { id },
      );
    }
    const plan = decodePlan(kept.plan);
    return {
      id,
      name: kept.name,
      definition: kept.definition,
      input: kept.input,
      plan,
      begun: kept.begun,
      version: kept.log.at(-1)?.id ?? 1,
      token: kept.token,
      owner: kept.owner ?? undefined,
      recoveryAttempts: kept.recoveries,
      nowMs: this.#now(),
      createdAtMs: kept.createdAtMs,
      updatedAtMs: kept.log.at(-1)?.atMs ?? kept.createdAtMs,
      deadlineAtMs: kept.deadlineAtMs ?? undefined,
      dueAtMs: kept.dueAtMs,
      entries: kept.log,
      state: fold(plan, kept.begun, kept.log, status),
    };
  }
}

function wallClockMs(): number {
  return (systemClock.virtualNowMs ?? Date.now)();
}

function notSupported(what: string): AmendsError {
  return new AmendsError(
    "NOT_SUPPORTED",
    `A storage of your own cannot ${what}. Use \`postgres\` or \`sqlite\` for that.`,
  );
}

function ignoreConflict(error: unknown): void {
  if (!(error instanceof SagaConcurrencyError)) throw error;
}
