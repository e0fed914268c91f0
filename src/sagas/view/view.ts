/** A saga as people see it: where it stands, and what happened, one line per thing that happened. */
import type { ControlDetails, Entry, Failure } from "../../core/saga/entry.ts";
import type { SagaStatus } from "../../core/saga/machine.ts";
import type { Plan } from "../../core/saga/plan.ts";
import { waitFor, type Wait } from "../../core/saga/wait.ts";
import type { SagaRecord } from "../journal/journal.ts";
import { allowedActions, skippable, type SagaAction } from "./operators.ts";
import {
  failureOf,
  resultsOf,
  stallReason,
  undoErrorsOf,
  type SagaFailure,
  type UndoFailure,
} from "./outcome.ts";

/** One line of what happened to a saga. */
export interface TimelineEntry {
  /** When, by the database's clock. */
  readonly at: Date;
  /** The step's name, or what Amends or a person did: claim, release, cancel, turn, stall, retry, skip, resolve. */
  readonly name: string;
  /** Whether a step did it, or Amends or a person. */
  readonly kind: "step" | "control";
  /** Whether the step is done or undone. */
  readonly action: "act" | "compensate";
  /** Whether it began, succeeded or failed. */
  readonly status: "STARTED" | "COMPLETED" | "FAILED";
  /**
   * The label of an error, and which step takes the failed one's place; the reason that a person gave; or what is waited
   * for and until when.
   */
  readonly note?: string;
  /** Who did it. */
  readonly by?: string;
  /** Which step a person skipped, or the saga turned back or stalled at. */
  readonly step?: string;
  /** Of a step that failed: its fallback, which takes its place. */
  readonly fallback?: string;
  /** Where a wait begins: for what ("signal approved", "event Paid", "time to pass"), and until when at most. */
  readonly waitsFor?: string;
  /** When the wait ends in any case. */
  readonly until?: Date;
}

/** What a saga waits for now, instead of working. */
export interface Waiting {
  /** The step that waits. */
  readonly step: string;
  /** For a signal, for an event, or for time to pass. */
  readonly kind: Wait["kind"];
  /** The signal's name or the event's type; undefined for a sleep. */
  readonly for: string | undefined;
  /** When the wait began, by the database's clock. */
  readonly since: Date;
  /** When the wait is over in any case; undefined where it has no time limit. */
  readonly until: Date | undefined;
}

/** A call that has not returned although its time is over. */
export interface RunningCall {
  /** The step whose act or undo was called. */
  readonly step: string;
  /** When the call began, by the clock of the worker that made it. */
  readonly since: Date;
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
  /** When a worker looks at it next, or loses it. */
  readonly dueAt: Date | undefined;
  /** What it waits for instead of working; undefined if it does not wait. */
  readonly waiting: Waiting | undefined;
  /** The process that runs it; undefined if none does. */
  readonly owner: string | undefined;
  /** How often another worker took it over since it last made progress. */
  readonly recoveryAttempts: number;
  /** Why it turned back; undefined if it did not. */
  readonly error: SagaFailure | undefined;
  /** The undos that failed for good. */
  readonly undoErrors: readonly UndoFailure[];
  /** Why it is stalled; undefined if it is not. */
  readonly stalled: string | undefined;
  /** A call that has outlived its time and that its worker still heard when it wrote last: it may still take effect. */
  readonly running: RunningCall | undefined;
  /** What a person may do about it now. */
  readonly actions: readonly SagaAction[];
  /** The steps that a person may skip. */
  readonly skippable: readonly string[];
  /** Everything that happened to it, oldest first. */
  readonly timeline: readonly TimelineEntry[];
}

export function viewOf(record: SagaRecord): SagaView {
  const { state } = record;
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
    waiting: waitingOf(record),
    owner: record.owner,
    recoveryAttempts: record.recoveryAttempts,
    error: failureOf(state.failure),
    undoErrors: undoErrorsOf(state),
    stalled: state.status === "STALLED" ? stallReason(state) : undefined,
    running: runningOf(record),
    actions: allowedActions(state),
    skippable: skippable(state),
    timeline: timelineOf(record),
  };
}

function waitingOf({ state, createdAtMs }: SagaRecord): Waiting | undefined {
  if (state.status !== "RUNNING") return undefined;
  const index = state.steps.findIndex(({ act }) => act === "waiting");
  const { name, wait } = state.plan[index] ?? {};
  if (name === undefined || !wait) return undefined;
  const sinceMs = state.steps[index]?.begunAtMs ?? createdAtMs;
  const { kind, target } = wait;
  return { step: name, kind, for: target, since: new Date(sinceMs), until: endOf(wait, sinceMs) };
}

function runningOf({ state: { steps, plan } }: SagaRecord): RunningCall | undefined {
  const index = steps.findIndex(({ runningSinceMs }) => runningSinceMs !== undefined);
  const sinceMs = steps[index]?.runningSinceMs;
  return sinceMs === undefined ? undefined : { step: plan[index]?.name ?? "", since: new Date(sinceMs) };
}

function endOf({ limitMs }: Wait, sinceMs: number): Date | undefined {
  return limitMs === undefined ? undefined : new Date(sinceMs + limitMs);
}

function timelineOf({ begun, plan, createdAtMs, entries }: SagaRecord): readonly TimelineEntry[] {
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
  for (const entry of entries) {
    const atMs = entry.atMs ?? createdAtMs;
    const isWait = entry.status === "STARTED" && waits.get(entry.step) !== undefined;
    lines.push(isWait ? started(entry.step, entry.action, atMs) : toLine(entry, atMs));
    if (entry.next) lines.push(started(entry.next.step, entry.next.action, atMs));
  }
  return lines;
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
  const { reason, by, label, kind, step: about } = JSON.parse(details ?? "{}") as ControlDetails;
  const note = reason ?? label ?? kind;
  return {
    ...base,
    name: step.slice(1),
    kind: "control",
    ...(note !== undefined && { note }),
    ...(by !== undefined && { by }),
    ...(about !== undefined && { step: about }),
  };
}
