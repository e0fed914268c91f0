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

/** One line of a saga's log. */
export interface TimelineEntry {
  /** When the line was written, by the database's clock. */
  readonly at: Date;
  /**
   * The name of the step, or what Amends or an operator did: claim, release, cancel, turn, stall, retry, skip, resolve.
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
  /** Whether it sleeps, or waits for a signal or an event. */
  readonly kind: Wait["kind"];
  /** The signal's name or the event's type; undefined for a sleep. */
  readonly for: string | undefined;
  /** When the wait began. */
  readonly since: Date;
  /** When the wait ends at the latest; undefined if it has no time limit. */
  readonly until: Date | undefined;
}

/** A call that has not returned although its time limit has passed. */
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
  /** When the saga is due next, or when its lease ends; undefined if it is not scheduled. */
  readonly dueAt: Date | undefined;
  /** What it waits for; undefined if it does not wait. */
  readonly waiting: Waiting | undefined;
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
  /** What an operator may do now. */
  readonly actions: readonly SagaAction[];
  /** The steps that an operator may skip. */
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
