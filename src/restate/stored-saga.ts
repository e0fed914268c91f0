/**
 * A saga as Restate keeps it beside its journal: written whenever the saga rests, stalls or changes its status, for those who look at
 * it. The saga itself never reads it: its state follows from the journal.
 */
import { evolve } from "../core/saga/evolve.ts";
import type { Entry } from "../core/saga/entry.ts";
import { decodePlan, encodePlan, type Plan } from "../core/saga/plan.ts";
import { initial, type SagaState } from "../core/saga/state.ts";
import { OPERATOR_TOKEN, type LogEntry, type SagaRecord } from "../sagas/journal/journal.ts";

/** What a start asks for. */
export interface StartOrder {
  /** The version of the definition. */
  readonly version: number;
  /** The input, as JSON. */
  readonly input: string;
}

/** The keys of a workflow's state. */
export const SAGA_KEY = "saga";
/** By itself, so that Restate's admin interface finds sagas by it. */
export const STATUS_KEY = "status";

/** The named promises by which others wait for the saga: what started it, that it can be looked at, and that it has ended. */
export const BEGUN = "begun";
export const STORED = "stored";
export const ENDED = "ended";

/** A saga that has stalled so many times tells its next outcome here. */
export function outcomePlace(stalls: number): string {
  return `outcome/${stalls}`;
}

export interface StoredSaga extends StartOrder {
  readonly plan: string;
  readonly createdAtMs: number;
  readonly deadlineAtMs?: number | undefined;
  readonly entries: readonly StoredEntry[];
  /** How often it has stalled. */
  readonly stalls: number;
  /** How many places of its inbox it has read. */
  readonly read: number;
}

export interface StoredEntry extends Entry {
  readonly atMs: number;
  /** A person wrote it. */
  readonly byOperator?: true;
}

/** What the log of a saga begins with. */
interface Beginning extends StartOrder {
  readonly id: string;
  readonly name: string;
  readonly plan: Plan;
  readonly createdAtMs: number;
  readonly deadlineAtMs: number | undefined;
}

/** The log of a saga while a process runs it. */
export class SagaLog {
  readonly #beginning: Beginning;
  readonly #entries: StoredEntry[] = [];

  constructor(beginning: Beginning) {
    this.#beginning = beginning;
  }

  append(entries: readonly Entry[], atMs: number, byOperator: boolean = false): void {
    for (const entry of entries)
      this.#entries.push({ ...entry, atMs, ...(byOperator && { byOperator: true }) });
  }

  /** The saga as it adds up. */
  read(nowMs: number): SagaRecord {
    return recordOf(this.#beginning, this.#entries, nowMs);
  }

  stored(stalls: number, read: number): StoredSaga {
    const { version, input, plan, createdAtMs, deadlineAtMs } = this.#beginning;
    const entries = [...this.#entries];
    return { version, input, plan: encodePlan(plan), createdAtMs, deadlineAtMs, entries, stalls, read };
  }
}

/** A stored saga as it adds up. */
export function readStored(id: string, name: string, stored: StoredSaga): SagaRecord {
  const { version, input, createdAtMs, deadlineAtMs, entries } = stored;
  const beginning = { id, name, version, input, plan: decodePlan(stored.plan), createdAtMs, deadlineAtMs };
  return recordOf(beginning, entries, entries.at(-1)?.atMs ?? createdAtMs);
}

function recordOf(beginning: Beginning, stored: readonly StoredEntry[], nowMs: number): SagaRecord {
  const { id, name, version, input, plan, createdAtMs, deadlineAtMs } = beginning;
  const entries = stored.map(({ byOperator, ...entry }, index): LogEntry => {
    return { ...entry, id: index + 2, token: byOperator ? OPERATOR_TOKEN : 0 };
  });
  const state: SagaState = entries.reduce(evolve, initial(plan, false, createdAtMs));
  return {
    id,
    name,
    definition: version,
    input: JSON.parse(input) as unknown,
    plan,
    begun: false,
    version: 1 + entries.length,
    token: 0,
    owner: undefined,
    recoveryAttempts: 0,
    priority: 0,
    attributes: undefined,
    epoch: 0,
    nowMs,
    createdAtMs,
    updatedAtMs: stored.at(-1)?.atMs ?? createdAtMs,
    deadlineAtMs,
    runAtMs: undefined,
    dueAtMs: undefined,
    entries,
    state,
  };
}
