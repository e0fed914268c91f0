/** A saga as people see it: where it stands, and what happened, one line per thing that happened. */
import type { ControlDetails, Entry, Failure } from "../../core/saga/entry.ts";
import { RECORDED, sagaMachine, type SagaStatus } from "../../core/saga/machine.ts";
import type { Plan } from "../../core/saga/plan.ts";
import { nameAt, stateAt, type StepState } from "../../core/saga/state.ts";
import { pauseMs } from "../../core/saga/steps/repeat.ts";
import { limitOf, waitFor, type Wait } from "../../core/saga/steps/wait.ts";
import { runningPlace } from "../../core/saga/undoing.ts";
import type { Attributes } from "../../core/start/attributes.ts";
import type { HeldBy } from "../../core/start/held.ts";
import type { Relative, SagaRecord } from "../journal/journal.ts";
import { allowedActions, skippable, type SagaAction } from "./operators.ts";
import {
  failureOf,
  resultsOf,
  stallReason,
  undoErrorsOf,
  type SagaFailure,
  type UndoFailure,
} from "./outcome.ts";
import { progressOf, type CallProgress } from "./progress.ts";

/** One line of a saga's log. */
export interface TimelineEntry {
  /** When the line was written, by the database's clock. */
  readonly at: Date;
  /**
   * The name of the step, or what Amends or an operator did: claim, release, cancel, turn, stall, retry, skip, resolve,
   * pause, resume.
   */
  readonly name: string;
  /** `step` for a call or a wait of a step, `control` for what Amends or an operator did to the saga. */
  readonly kind: "step" | "control";
  /** Whether the step acted or was compensated. */
  readonly action: "act" | "compensate";
  /** Whether it started, completed or failed. */
  readonly status: "STARTED" | "COMPLETED" | "FAILED";
  /**
   * A short explanation: the label of an error and the fallback that runs instead; the reason that an operator gave; or
   * what the step waits for and until when.
   */
  readonly note?: string;
  /** The operator, or the process that claimed the saga; undefined for a step. */
  readonly by?: string;
  /** The bulk action of which the operator's action was an item. */
  readonly bulk?: string;
  /** The step that an operator skipped, or at which the saga began to compensate or stalled. */
  readonly step?: string;
  /** The fallback that runs instead of the failed step. */
  readonly fallback?: string;
  /** What the step begins to wait for: "signal approved", "event Paid" or "time to pass". */
  readonly waitsFor?: string;
  /** When the wait ends at the latest; undefined if it has no time limit. */
  readonly until?: Date;
}

/** What a saga waits for now. */
export interface Waiting {
  /** The name of the step that waits. */
  readonly step: string;
  /**
   * What ends the wait: time (`sleep`), a signal, an event, the first of several (`any`), the next round (`round`), or the end of a
   * child saga (`saga`).
   */
  readonly kind: Wait["kind"] | "round" | "saga";
  /**
   * The name of the signal, the type of the event, the alternatives of `any`, the signal or event that ends the rounds, or the id of the
   * child saga; undefined for a sleep.
   */
  readonly for: string | undefined;
  /** When the wait began. */
  readonly since: Date;
  /** When the wait ends at the latest; undefined if it has no time limit. */
  readonly until: Date | undefined;
}

/** Who holds a saga, why, and since when. */
export interface SagaPause {
  /** Whether this saga was paused (`id`), or all sagas of its name (`saga`). */
  readonly kind: "id" | "saga";
  /** The reason that the operator gave. */
  readonly reason: string;
  /** The operator; undefined if no name was given. */
  readonly by: string | undefined;
  /** Since when, by the database's clock. */
  readonly since: Date;
}

/** A call that has not returned although its time limit has passed. */
export interface RunningCall {
  /** The step whose act or undo was called. */
  readonly step: string;
  /** When the call began, by the clock of the worker that made it. */
  readonly since: Date;
}

/** A saga that another one started, or that takes another one back. */
export interface RelatedSaga {
  /** The id of the saga. */
  readonly id: string;
  /** Its state. */
  readonly status: SagaStatus;
  /** The step that started it; undefined if no step did. */
  readonly step: string | undefined;
}

/** One saga: its definition, its state, and everything that happened to it. */
export interface SagaView {
  /** The saga's id. */
  readonly id: string;
  /** The name of its definition. */
  readonly name: string;
  /** The version of its definition. */
  readonly version: number;
  /** The number of changes so far: it grows by one with each line of the log. */
  readonly revision: number;
  /** The saga's state. */
  readonly status: SagaStatus;
  /** What it was started with. */
  readonly input: unknown;
  /** What the steps returned so far, by the name of the step. */
  readonly results: Readonly<Record<string, unknown>>;
  /** The steps of its definition, as recorded when it was started. */
  readonly plan: Plan;
  /** When it was started, by the database's clock. */
  readonly createdAt: Date;
  /** When it last changed, by the database's clock. */
  readonly updatedAt: Date;
  /** When the saga is due next, or when its lease ends; undefined if it has ended or is stalled. */
  readonly dueAt: Date | undefined;
  /** The earliest instant at which it may run, as its start said (`runAt` or `delay`); undefined if that was at once. */
  readonly runAt: Date | undefined;
  /** True while it is PENDING and that instant has not come. */
  readonly isScheduled: boolean;
  /** Its priority among due sagas, 0 to 10. */
  readonly priority: number;
  /** The attributes that it was started with. */
  readonly attributes: Attributes;
  /** What it waits for; undefined if it does not wait. */
  readonly waiting: Waiting | undefined;
  /** Who holds it and why, where a person has paused it or all sagas of its name; undefined if it is not paused. */
  readonly paused: SagaPause | undefined;
  /** The limits by key that hold it back, although it is due; empty if none does. Only `inspect` reads them. */
  readonly heldBy: readonly HeldBy[];
  /** The process that runs it; undefined if none does. */
  readonly owner: string | undefined;
  /** How often another worker took it over since it last made progress. */
  readonly recoveryAttempts: number;
  /** Why it compensates; undefined if it does not. */
  readonly error: SagaFailure | undefined;
  /** The compensations that failed permanently. */
  readonly undoErrors: readonly UndoFailure[];
  /** Why it is stalled; undefined if it is not. */
  readonly stalled: string | undefined;
  /**
   * A call that still ran beyond its time limit when its worker last wrote: it may still take effect. Undefined if
   * there is none.
   */
  readonly running: RunningCall | undefined;
  /** What its calls have reported of their progress, as it was last stored, in the order of the reports. */
  readonly progress: readonly CallProgress[];
  /** The saga that started it, and the step that waits for its end; undefined if the application started it. */
  readonly parent: { readonly id: string; readonly step: string } | undefined;
  /** The sagas that its steps have started, and those that take them back. */
  readonly children: readonly RelatedSaga[];
  /** The id of the completed saga that it takes back; undefined if it is not a reversal. */
  readonly reverses: string | undefined;
  /** The saga that takes it back; undefined if none does. */
  readonly reversedBy: RelatedSaga | undefined;
  /** What an operator may do now. */
  readonly actions: readonly SagaAction[];
  /** The steps that an operator may skip. */
  readonly skippable: readonly string[];
  /** Everything that happened to it, oldest first. */
  readonly timeline: readonly TimelineEntry[];
}

/** `relatives`, `held`, and the pause of all sagas of its name, are read for the view of one saga only. */
export function viewOf(
  record: SagaRecord,
  relatives: readonly Relative[] = [],
  held: readonly HeldBy[] = [],
  pausedName?: SagaPause,
): SagaView {
  const { state } = record;
  const related = ({ id, status, step }: Relative): RelatedSaga => ({ id, status, step });
  const reversal = relatives.find(({ isReversal }) => isReversal);
  return {
    id: record.id,
    name: record.name,
    version: record.definition,
    revision: record.version,
    status: state.status,
    input: record.input,
    results: resultsOf(state),
    plan: record.plan,
    createdAt: new Date(record.createdAtMs),
    updatedAt: new Date(record.updatedAtMs),
    dueAt: record.dueAtMs === undefined ? undefined : new Date(record.dueAtMs),
    runAt: record.runAtMs === undefined ? undefined : new Date(record.runAtMs),
    isScheduled: isScheduled(state.status, record),
    priority: record.priority,
    attributes: record.attributes ?? {},
    waiting: waitingOf(record),
    paused: pauseOf(record, pausedName),
    heldBy: held,
    owner: record.owner,
    recoveryAttempts: record.recoveryAttempts,
    error: failureOf(state.failure),
    undoErrors: undoErrorsOf(state),
    stalled: state.status === "STALLED" ? stallReason(state) : undefined,
    running: runningOf(record),
    progress: progressOf(record),
    parent: record.parent,
    children: relatives.filter(({ isReversal }) => !isReversal).map(related),
    reverses: record.reverses,
    reversedBy: reversal && related(reversal),
    actions: allowedActions(state).filter((action) => action !== "reverse" || !reversal),
    skippable: skippable(state),
    timeline: timelineOf(record),
  };
}

/** It is only recorded, and its gate opens later. */
export function isScheduled(
  status: SagaStatus,
  { dueAtMs, nowMs }: Pick<SagaRecord, "dueAtMs" | "nowMs">,
): boolean {
  return status === RECORDED && dueAtMs !== undefined && dueAtMs > nowMs;
}

function pauseOf({ state, nowMs }: SagaRecord, pausedName: SagaPause | undefined): SagaPause | undefined {
  if (sagaMachine.isTerminal(state.status)) return undefined;
  if (!state.paused) return pausedName;
  const { reason = "", by, atMs = nowMs } = state.paused;
  return { kind: "id", reason, by, since: new Date(atMs) };
}

function waitingOf({ state, createdAtMs }: SagaRecord): Waiting | undefined {
  const index = state.steps.findIndex(({ act, undo }) => act === "waiting" || undo === "waiting");
  const planned = state.plan[index];
  if (!planned || state.status === "STALLED" || sagaMachine.isTerminal(state.status)) return undefined;
  const { begunAtMs, pausedAtMs, awaited, round = 0 } = state.steps[index] as StepState;
  const { name: step, wait, repeat } = planned;
  const sinceMs = (repeat ? pausedAtMs : begunAtMs) ?? createdAtMs;
  const since = new Date(sinceMs);
  const end = (limitMs: number | undefined): Date | undefined =>
    limitMs === undefined ? undefined : new Date(sinceMs + limitMs);
  if (wait) return { step, kind: wait.kind, for: targetOf(wait), since, until: end(limitOf(wait)) };
  if (repeat) {
    const target = repeat.until && waitFor(repeat.until);
    return { step, kind: "round", for: target, since, until: end(pauseMs(repeat, round)) };
  }
  return { step, kind: "saga", for: awaited?.saga, since, until: undefined };
}

function targetOf({ any, target }: Wait): string | undefined {
  return any ? any.map(({ name }) => name).join(", ") : target;
}

function runningOf({ state }: SagaRecord): RunningCall | undefined {
  const place = runningPlace(state, () => true);
  if (!place) return undefined;
  const { runningSinceMs = 0 } = stateAt(state, place.index, place.item);
  return { step: nameAt(state, place.index, place.item), since: new Date(runningSinceMs) };
}

function endOf(wait: Wait, sinceMs: number): Date | undefined {
  const limitMs = limitOf(wait);
  return limitMs === undefined ? undefined : new Date(sinceMs + limitMs);
}

function timelineOf(record: SagaRecord): readonly TimelineEntry[] {
  const { begun, plan, createdAtMs, entries, state } = record;
  const waits = new Map(plan.map(({ name, wait }) => [name, wait]));
  const started = (name: string, action: Entry["action"], atMs: number): TimelineEntry => ({
    at: new Date(atMs),
    name,
    kind: "step",
    action,
    status: "STARTED",
    ...waited(waits.get(name), atMs),
  });
  const lines: TimelineEntry[] = begun && plan[0] ? [started(plan[0].name, "act", createdAtMs)] : [];
  // The log of a reversal begins with the lines of the saga that it takes back.
  const reversed = entries.findIndex(({ step }) => step === "$reverse");
  if (reversed >= 0) lines.length = 0;
  for (const entry of entries.slice(Math.max(0, reversed))) {
    const atMs = entry.atMs ?? createdAtMs;
    const index = entry.status === "STARTED" ? plan.findIndex(({ name }) => name === entry.step) : -1;
    const { wait, each, child } = plan[index] ?? {};
    const isParked = entry.details !== null && entry.details !== undefined;
    if (wait) lines.push(started(entry.step, entry.action, atMs));
    else if (each && isParked)
      lines.push(...listed(entry, atMs, lines, state.steps[index]?.items?.list.length));
    else if (child !== undefined && isParked) {
      const waitsFor = `saga ${child}`;
      lines.push({ ...toLine(entry, atMs), note: `waits for ${waitsFor}`, waitsFor });
    } else lines.push(toLine(entry, atMs));
    if (entry.next) lines.push(started(entry.next.step, entry.next.action, atMs));
  }
  return lines;
}

/** A list is written in several lines. The step has said what its items are with the first one. */
function listed(
  { step: name, action }: Entry,
  atMs: number,
  before: readonly TimelineEntry[],
  count: number | undefined,
): readonly TimelineEntry[] {
  if (before.some((line) => line.name === name && line.status === "COMPLETED")) return [];
  const note = count === 1 ? "1 item" : `${String(count ?? 0)} items`;
  return [{ at: new Date(atMs), name, kind: "step", action, status: "COMPLETED", note }];
}

function waited(wait: Wait | undefined, atMs: number): Pick<TimelineEntry, "note" | "waitsFor" | "until"> {
  if (!wait) return {};
  const [waitsFor, until] = [waitFor(wait), endOf(wait, atMs)];
  const note = `waits for ${waitsFor}${until ? `, until ${until.toISOString()}` : ""}`;
  return { note, waitsFor, ...(until && { until }) };
}

function toLine({ step, action, status, details }: Entry, atMs: number): TimelineEntry {
  const base = { at: new Date(atMs), action, status };
  if (!step.startsWith("$")) {
    if (status !== "FAILED") return { ...base, name: step, kind: "step" };
    const { label, instead } = JSON.parse(details as string) as Failure;
    const passed = instead === undefined ? { note: label } : { note: `${label}, ${instead} instead` };
    return {
      ...base,
      name: step,
      kind: "step",
      ...passed,
      ...(instead !== undefined && { fallback: instead }),
    };
  }
  const { reason, by, bulk, label, kind, step: about } = JSON.parse(details ?? "{}") as ControlDetails;
  const note = reason ?? label ?? kind;
  return {
    ...base,
    name: step.slice(1),
    kind: "control",
    ...(note !== undefined && { note }),
    ...(by !== undefined && { by }),
    ...(bulk !== undefined && { bulk }),
    ...(about !== undefined && { step: about }),
  };
}
