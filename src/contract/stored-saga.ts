/** What Amends stores in the context of a saga in a custom storage: the saga's row and its whole log. */
import type { Entry, Mark } from "../core/saga/entry.ts";
import { openingLines } from "../core/saga/steps/group.ts";
import { CLAIMABLE } from "../core/saga/machine.ts";
import { decodePlan, encodePlan } from "../core/saga/plan.ts";
import { opensInMs } from "../core/start/gate.ts";
import type { LogEntry, NewSaga, SagaRecord } from "../sagas/journal/journal.ts";
import type { SagaContext, StoredSagaState } from "./contract.ts";
import { fold } from "../sagas/journal/rows.ts";

export interface StoredSaga {
  readonly name: string;
  readonly definition: number;
  readonly input: unknown;
  readonly plan: string;
  readonly begun: boolean;
  readonly token: number;
  readonly owner: string | null;
  readonly recoveries: number;
  readonly createdAtMs: number;
  /** While the saga has no owner: the instant from which it may be claimed. */
  readonly dueAtMs: number | null;
  /** The gate of its start; null if it was due at once. */
  readonly runAtMs: number | null;
  readonly deadlineAtMs: number | null;
  /** What its calls have reported of their progress; missing if they did not. */
  readonly progress?: string | null;
  readonly log: readonly LogEntry[];
}

/** A loaded saga: the storage's values and the state that they decode to. */
export interface Loaded {
  readonly stored: StoredSagaState;
  readonly kept: StoredSaga;
  readonly record: SagaRecord;
}

export function newStoredSaga(saga: NewSaga, nowMs: number): StoredSaga {
  const begun = saga.owner !== undefined;
  const dueAtMs = nowMs + opensInMs(saga.gate, nowMs);
  return {
    name: saga.name,
    definition: saga.definition,
    input: JSON.parse(saga.input),
    plan: encodePlan(saga.plan),
    begun,
    token: saga.token,
    owner: saga.owner ?? null,
    recoveries: 0,
    createdAtMs: nowMs,
    dueAtMs: begun ? null : dueAtMs,
    runAtMs: saga.gate ? dueAtMs : null,
    deadlineAtMs: saga.deadlineMs === undefined ? null : dueAtMs + saga.deadlineMs,
    log: begun
      ? openingLines(saga.plan).map((entry, n) => ({ ...entry, id: n + 2, token: saga.token, atMs: nowMs }))
      : [],
  };
}

/** Undefined if other code put the saga into the storage: there is no plan to run it by. */
export function readStoredSaga(id: string, stored: StoredSagaState, nowMs: number): Loaded | undefined {
  if (!isStoredSaga(stored.context)) return undefined;
  const kept = stored.context as unknown as StoredSaga;
  const plan = decodePlan(kept.plan);
  const last = kept.log.at(-1);
  const record: SagaRecord = {
    id,
    name: kept.name,
    definition: kept.definition,
    input: kept.input,
    plan,
    begun: kept.begun,
    version: last?.id ?? 1,
    token: kept.token,
    owner: kept.owner ?? undefined,
    recoveryAttempts: kept.recoveries,
    priority: 0,
    attributes: undefined,
    epoch: 0,
    nowMs,
    createdAtMs: kept.createdAtMs,
    updatedAtMs: last?.atMs ?? kept.createdAtMs,
    deadlineAtMs: kept.deadlineAtMs ?? undefined,
    runAtMs: kept.runAtMs ?? undefined,
    dueAtMs: kept.dueAtMs ?? undefined,
    progress: kept.progress ?? undefined,
    entries: kept.log,
    state: fold(plan, kept.begun, kept.log, stored.status, kept.createdAtMs),
  };
  return { stored, kept, record };
}

function isStoredSaga(context: SagaContext): boolean {
  return typeof context["plan"] === "string" && Array.isArray(context["log"]);
}

/** Releases the saga. If it can still run, it may be claimed after this delay. */
export function givenBack(
  status: SagaRecord["state"]["status"],
  dueAtMs: number,
): Pick<StoredSaga, "owner" | "dueAtMs"> {
  return { owner: null, dueAtMs: CLAIMABLE.includes(status) ? dueAtMs : null };
}

/** The log as entries of the storage's history: a line that also begins a call becomes two entries. */
export function linesOf({
  begun,
  plan,
  entries,
}: Pick<SagaRecord, "begun" | "plan" | "entries">): readonly Entry[] {
  const started = ({ step, action }: Mark): Entry => ({ step, action, status: "STARTED", details: null });
  const first = begun ? plan[0] : undefined;
  return [
    ...(first ? [started({ step: first.name, action: "act" })] : []),
    ...entries.flatMap((entry) => (entry.next ? [entry, started(entry.next)] : [entry])),
  ];
}
