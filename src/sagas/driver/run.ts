/**
 * One saga while a driver has it: its state, the instants from which its time limits count, and the calls that are under way.
 * Nothing in it depends on the storage.
 */
import type { CallCommand } from "../../core/saga/interpreter.ts";
import type { PlannedStep } from "../../core/saga/plan.ts";
import type { SagaState } from "../../core/saga/state.ts";
import type { Arrival } from "../../core/saga/wait.ts";
import type { AnySaga } from "../define/definition.ts";
import type { StepDefinition } from "../define/settings.ts";
import type { EndedCall, Lines, PendingCall } from "./saga-host.ts";
import type { OrphanedCalls } from "./orphaned-calls.ts";

/** How a run left this process: at its end, given back for later, or taken by another worker. */
export type Departure = "ended" | "released" | "lost";

/** A call that has ended with an outcome. */
export interface Ended {
  readonly command: CallCommand;
  readonly called: EndedCall;
}

/** A saga as it was read, with its deadline and instants in the storage's time. */
export interface Snapshot {
  readonly id: string;
  readonly input: unknown;
  readonly state: SagaState;
  /** The storage's clock when it was read. */
  readonly nowMs: number;
  readonly deadlineAtMs: number | undefined;
}

export class Run {
  readonly id: string;
  readonly definition: AnySaga;
  readonly input: unknown;
  state: SagaState;
  /** When its own deadline passes, in the host's time. */
  readonly deadlineAtMs: number | undefined;
  readonly hasDeadlines: boolean;
  /** Some of its steps only wait. */
  readonly hasWaits: boolean;
  /** The signals and events that the driver has read so far. */
  arrivals: readonly Arrival[] = [];
  /** The calls that are under way: one, or several of a group. */
  calls: readonly PendingCall[] = [];
  /** Calls that are over and whose outcomes are not recorded yet. */
  unrecorded: readonly Ended[] = [];
  /** Calls that have outlived their time and have not returned; undefined where there never was one. */
  orphans: OrphanedCalls | undefined;
  /** A call was interrupted: it is in doubt, and so the saga is given back before anything else is decided. */
  isInterrupted = false;
  /** In the host's time: when each step began, as far as a time limit counts from it, and when each next try is due. */
  #begunAtMs: Map<string, number> | undefined;
  #dueAtMs: Map<string, number> | undefined;

  constructor(given: Snapshot, definition: AnySaga, nowMs: number) {
    const { deadlineAtMs, state } = given;
    this.id = given.id;
    this.definition = definition;
    this.input = given.input;
    this.state = state;
    this.deadlineAtMs = deadlineAtMs === undefined ? undefined : nowMs + (deadlineAtMs - given.nowMs);
    this.hasDeadlines =
      deadlineAtMs !== undefined || definition.steps.some((step) => step.deadlineMs !== undefined);
    this.hasWaits = state.plan.some(({ wait }) => wait !== undefined);
    this.adopt(state, given.nowMs, nowMs);
  }

  /** Takes over a state that was read from the storage. */
  adopt(state: SagaState, storageNowMs: number, nowMs: number): void {
    this.state = state;
    this.#begunAtMs = undefined;
    this.#dueAtMs = undefined;
    for (const [index, step] of state.steps.entries()) {
      const planned = state.plan[index] as PlannedStep;
      if (step.act !== "retry" && step.act !== "begun" && step.act !== "waiting") continue;
      if (this.hasDeadlines || planned.wait)
        this.begin(planned.name, nowMs + (step.begunAtMs ?? storageNowMs) - storageNowMs);
      if (step.act === "retry" && step.dueAtMs !== undefined)
        this.putOff({ kind: "act", step: planned.name }, nowMs + step.dueAtMs - storageNowMs);
    }
  }

  /** The lines are durable: only now do they count. */
  accept({ entry, more, state }: Lines, nowMs: number): void {
    this.state = state;
    if (!this.hasWaits) return;
    const last = more?.at(-1) ?? entry;
    const begun = last.next?.step ?? (last.status === "STARTED" ? last.step : undefined);
    // A wait that begins here is measured by the host's time for as long as the saga stays here.
    if (state.plan.some(({ name, wait }) => wait && name === begun)) this.begin(begun as string, nowMs);
  }

  step(name: string): StepDefinition {
    for (const step of this.definition.steps) if (step.name === name) return step;
    throw new Error(`saga ${this.definition.name} has no step ${name}`);
  }

  /** The time limits of this step count from now on. */
  begin(step: string, nowMs: number): void {
    this.#begunAtMs ??= new Map();
    this.#begunAtMs.set(step, nowMs);
  }

  begunAtMs(step: string): number | undefined {
    return this.#begunAtMs?.get(step);
  }

  /** The next try of this call is due at this instant. */
  putOff(call: Pick<CallCommand, "kind" | "step">, atMs: number): void {
    this.#dueAtMs ??= new Map();
    this.#dueAtMs.set(keyOf(call), atMs);
  }

  dueAtMs(call: Pick<CallCommand, "kind" | "step">): number {
    return this.#dueAtMs?.get(keyOf(call)) ?? -Infinity;
  }

  /** Some next try may not be due yet. */
  get hasPutOff(): boolean {
    return this.#dueAtMs !== undefined;
  }
}

/** The list with one more item. Mostly the list is empty: `push` would then make room for sixteen more. */
export function added<Item>(list: readonly Item[], item: Item): readonly Item[] {
  return list.length === 0 ? [item] : [...list, item];
}

/** No name of a step has a space. */
function keyOf({ kind, step }: Pick<CallCommand, "kind" | "step">): string {
  return kind === "act" ? step : `undo ${step}`;
}
