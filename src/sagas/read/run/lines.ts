/**
 * What lists show of a saga's run: the state of each step, the last error, and how often a lost worker's saga was
 * recovered. A list reads a few columns of the log, the page of one saga has its whole timeline; both become the same
 * lines here, so that the two cannot disagree.
 */
import type { Direction } from "../../../core/identity.ts";
import type { ControlDetails, Failure } from "../../../core/saga/entry.ts";
import type { SagaStatus } from "../../../core/saga/machine.ts";
import type { Plan } from "../../../core/saga/plan.ts";
import type { SagaView, TimelineEntry } from "../../view/view.ts";

export interface RunLine extends Pick<
  TimelineEntry,
  "name" | "kind" | "action" | "status" | "step" | "fallback"
> {
  /** Of a failed call, a turn or a stall. Never a message. */
  readonly label?: string | undefined;
  /** Of a failed call: it is tried again. */
  readonly isRetried?: boolean;
  /** Of a claim: nobody had claimed the saga before. */
  readonly isFirst?: boolean;
}

/** The control lines of which `readLines` needs the details. */
export const DETAILED: readonly string[] = ["$claim", "$turn", "$stall", "$skip"];

/** A row of the log with what a list reads of it. */
export interface LoggedLine {
  readonly sagaId: string;
  readonly step: string;
  readonly action: Direction;
  readonly status: RunLine["status"];
  /** The call that began with it. */
  readonly nextStep: string | undefined;
  readonly nextAction: Direction | undefined;
  /** As JSON. It may be missing for all but failed calls and the lines of DETAILED. */
  readonly details: string | undefined;
}

/** Oldest first. */
export function readLines(log: readonly LoggedLine[]): readonly RunLine[] {
  return log.flatMap((line) => {
    const run = line.step.startsWith("$") ? controlLine(line) : stepLine(line);
    return line.nextStep === undefined ? [run] : [run, begun(line.nextStep, line.nextAction ?? "act")];
  });
}

function begun(name: string, action: Direction): RunLine {
  return { name, kind: "step", action, status: "STARTED" };
}

function stepLine({ step: name, action, status, details }: LoggedLine): RunLine {
  if (status !== "FAILED") return { name, kind: "step", action, status };
  const { label, kind, instead } = parsed<Failure>(details);
  return {
    name,
    kind: "step",
    action,
    status,
    label,
    isRetried: kind === "retry",
    ...(instead !== undefined && { fallback: instead }),
  };
}

function controlLine({ step: name, details }: LoggedLine): RunLine {
  const { label, kind, step } = parsed<ControlDetails>(details);
  return {
    name: name.slice(1),
    kind: "control",
    action: "act",
    status: "COMPLETED",
    label: label ?? kind,
    isFirst: kind === "first",
    ...(step !== undefined && { step }),
  };
}

/** A line that was changed by hand must not stop the list. */
function parsed<T>(details: string | undefined): Partial<T> {
  try {
    return (JSON.parse(details ?? "{}") ?? {}) as Partial<T>;
  } catch {
    return {};
  }
}

export function linesOf({ timeline }: Pick<SagaView, "timeline">): readonly RunLine[] {
  return timeline.map(({ note, ...line }) => ({
    ...line,
    label: line.fallback === undefined ? note : note?.slice(0, note.lastIndexOf(`, ${line.fallback}`)),
    isFirst: line.name === "claim" && note === "first",
  }));
}

/**
 * How often another worker took the saga over while a call was under way: its worker had crashed or lost its lease. A
 * worker that shuts down says so, a saga that waits or backs off has no call under way, and a stalled one no worker.
 */
export function recoveriesOf(plan: Plan, lines: readonly RunLine[]): number {
  const waits = new Set(plan.filter(({ wait }) => wait !== undefined).map(({ name }) => name));
  // A second beginning says that the list is recorded, or that the child saga was started: no call is under way then.
  const parks = new Set(plan.filter(({ each, child }) => each ?? child).map(({ name }) => name));
  // A saga may begin its first act together with its row: then no line says so. A reversal begins no act.
  const isReversal = lines[0]?.name === "reverse";
  const running = new Set(plan[0] && !isReversal && !waits.has(plan[0].name) ? [`act ${plan[0].name}`] : []);
  let count = 0;
  for (const { kind, name, action, status, isFirst } of lines) {
    if (kind === "step") {
      const call = `${action} ${name}`;
      if (status !== "STARTED" || (parks.has(name) && running.has(call))) running.delete(call);
      else if (!waits.has(name)) running.add(call);
    } else if (name === "release" || name === "stall") running.clear();
    else if (name === "claim" && isFirst !== true && running.size > 0) count += 1;
  }
  return count;
}

/** The label of the error that an operator looks for first; undefined where there is none. */
export function lastErrorOf(status: SagaStatus, lines: readonly RunLine[]): string | undefined {
  if (status === "COMPLETED") return undefined;
  const isOver = status === "FAILED";
  const failed = lines.filter(
    ({ kind, name, status: end, action }) =>
      (kind === "step" && end === "FAILED" && (!isOver || action === "act")) ||
      (kind === "control" && (name === "turn" || (name === "stall" && !isOver))),
  );
  const last = failed.at(-1);
  if (!last || status !== "RUNNING") return last?.label;
  // Going forward, an error is over once the call has succeeded.
  const after = lines.slice(lines.indexOf(last) + 1);
  const isPast = after.some((line) => line.name === last.name && line.status === "COMPLETED");
  return isPast ? undefined : last.label;
}
