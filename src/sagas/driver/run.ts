/**
 * One saga while a driver has it: its state, the instants from which its time limits count, and the calls that are under way.
 * Nothing in it depends on the storage.
 */
import type { CallCommand } from "../../core/saga/interpreter.ts";
import { callName, decodeProgress, type Progress } from "../../core/saga/progress.ts";
import { partName, stepOf } from "../../core/saga/part-name.ts";
import { currentStep } from "../../core/saga/path.ts";
import type { PlannedStep } from "../../core/saga/plan.ts";
import type { SagaState, StepState } from "../../core/saga/state.ts";
import { itemAt, openItems } from "../../core/saga/steps/items.ts";
import type { Arrival } from "../../core/saga/steps/wait.ts";
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
  /** The saga that it takes back. */
  readonly reverses?: string | undefined;
  readonly input: unknown;
  readonly state: SagaState;
  /** The storage's clock when it was read. */
  readonly nowMs: number;
  readonly deadlineAtMs: number | undefined;
  /** The progress of its calls, as it is stored. */
  readonly progress?: string | undefined;
}

export class Run {
  readonly id: string;
  /** The id that the steps' code gets, and that is in idempotency keys: that of the saga which is taken back, if one is. */
  readonly keyId: string;
  readonly definition: AnySaga;
  readonly input: unknown;
  state: SagaState;
  /** When its own deadline passes, in the host's time. */
  readonly deadlineAtMs: number | undefined;
  readonly hasDeadlines: boolean;
  /** Some of its steps wait, for themselves or between two calls. */
  readonly hasWaits: boolean;
  /** The signals and events that the driver has read so far. */
  arrivals: readonly Arrival[] = [];
  /** The calls that are under way: one, or several of a group or a list. */
  calls: readonly PendingCall[] = [];
  /** Calls that are over and whose outcomes are not recorded yet. */
  unrecorded: readonly Ended[] = [];
  /** Calls that have outlived their time and have not returned; undefined where there never was one. */
  orphans: OrphanedCalls | undefined;
  /** What its calls have reported of their progress; undefined where none ever did. */
  progress: Progress | undefined;
  /** A call was interrupted: it is in doubt, and so the saga is given back before anything else is decided. */
  isInterrupted = false;
  /** In the host's time: when each step began, as far as a time limit counts from it, and when each next try is due. */
  #begunAtMs: Map<string, number> | undefined;
  #dueAtMs: Map<string, number> | undefined;

  constructor(given: Snapshot, definition: AnySaga, nowMs: number) {
    const { deadlineAtMs, state } = given;
    this.id = given.id;
    this.keyId = given.reverses ?? given.id;
    this.definition = definition;
    this.input = given.input;
    this.state = state;
    this.deadlineAtMs = deadlineAtMs === undefined ? undefined : nowMs + (deadlineAtMs - given.nowMs);
    this.hasDeadlines =
      deadlineAtMs !== undefined || definition.steps.some((step) => step.deadlineMs !== undefined);
    this.hasWaits = state.plan.some(({ wait, repeat, child }) => wait ?? repeat ?? child);
    this.progress = decodeProgress(given.progress);
    this.adopt(state, given.nowMs, nowMs);
  }

  /** Takes over a state that was read from the storage. */
  adopt(state: SagaState, storageNowMs: number, nowMs: number): void {
    this.state = state;
    this.#begunAtMs = undefined;
    this.#dueAtMs = undefined;
    const here = (atMs: number | undefined): number => nowMs + (atMs ?? storageNowMs) - storageNowMs;
    for (const [index, step] of state.steps.entries()) {
      const { name, wait } = state.plan[index] as PlannedStep;
      if (step.items) this.#adoptItems(name, step, here);
      if (step.act !== "retry" && step.act !== "begun" && step.act !== "waiting") continue;
      const isPaused = step.act === "waiting" && step.round !== undefined;
      if (this.hasDeadlines || wait || isPaused)
        this.begin(name, here(isPaused ? step.pausedAtMs : step.begunAtMs));
      if (step.act === "retry" && step.dueAtMs !== undefined)
        this.putOff({ kind: "act", step: name }, here(step.dueAtMs));
    }
  }

  #adoptItems(name: string, { items }: StepState, here: (atMs: number) => number): void {
    if (!items) return;
    for (const number of openItems(items, ({ act }) => act === "retry", Infinity)) {
      const { dueAtMs } = itemAt(items, number) as StepState;
      if (dueAtMs !== undefined) this.putOff({ kind: "act", step: partName(name, number) }, here(dueAtMs));
    }
  }

  /** The lines are durable: only now do they count. */
  accept({ state }: Lines, nowMs: number): void {
    const before = this.state;
    this.state = state;
    if (!this.hasWaits) return;
    // A wait that begins here is measured by the host's time for as long as the saga stays here.
    const index = currentStep(state);
    const isWaiting = state.steps[index]?.act === "waiting" && before.steps[index]?.act !== "waiting";
    if (isWaiting) this.begin((state.plan[index] as PlannedStep).name, nowMs);
  }

  /** The definition of the step to which a name in the log belongs. */
  step(name: string): StepDefinition {
    const wanted = stepOf(name);
    for (const step of this.definition.steps) if (step.name === wanted) return step;
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
    this.#dueAtMs.set(callName(call), atMs);
  }

  dueAtMs(call: Pick<CallCommand, "kind" | "step">): number {
    return this.#dueAtMs?.get(callName(call)) ?? -Infinity;
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
