/**
 * One step of a group while its act is called: what a call needs to know of its saga, and a signal of its own, so that
 * one of several calls can be stopped and the others go on.
 */
import type { SagaState } from "../core/saga/state.ts";
import { membersFrom } from "../core/saga/group.ts";
import type { Caller } from "./call.ts";
import type { AnySaga } from "./definition.ts";
import type { Run, StopReason } from "./run.ts";
import type { StepDefinition } from "./settings.ts";

export class Member implements Caller {
  readonly results: Record<string, unknown>;
  readonly stepBegunAtMs: number;
  /** It was told to stop and has not. */
  overdue = false;
  stopReason: StopReason | undefined;
  readonly #run: Run;
  #controller: AbortController | undefined;

  constructor(run: Run, index: number, stepBegunAtMs: number) {
    this.#run = run;
    this.stepBegunAtMs = stepBegunAtMs;
    this.results = resultsBefore(run, index);
    // A worker that shuts down, or has lost the saga, does so for all.
    if (run.stopReason === "shutdown" || run.stopReason === "lost") this.stopReason = run.stopReason;
  }

  get id(): string {
    return this.#run.id;
  }

  get definition(): AnySaga {
    return this.#run.definition;
  }

  get input(): unknown {
    return this.#run.input;
  }

  get state(): SagaState {
    return this.#run.state;
  }

  get deadlineAtMs(): number | undefined {
    return this.#run.deadlineAtMs;
  }

  /** Made only for calls that look at it. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.stopReason) this.#controller.abort(new Error(this.stopReason));
    }
    return this.#controller.signal;
  }

  step(name: string): StepDefinition {
    return this.#run.step(name);
  }

  stop(reason: StopReason): void {
    this.stopReason ??= reason;
    this.#controller?.abort(new Error(reason));
  }

  /** The lease is left to lapse only where nothing healthy is left that it protects. */
  driftOff(): void {
    this.overdue = true;
    driftIfAllDo(this.#run);
  }
}

export function driftIfAllDo(run: Run): void {
  const members = [...(run.members ?? [])];
  if (members.length > 0 && members.every(({ overdue }) => overdue)) run.driftOff();
}

/** Steps that act at the same time do not see each other's results: who is called again must not see more than before. */
function resultsBefore({ state, results }: Run, index: number): Record<string, unknown> {
  const { plan } = state;
  const name = plan[index]?.group?.name;
  const first = plan.findIndex(({ group }) => group?.name === name);
  const seen = { ...results };
  for (const member of membersFrom(plan, first)) delete seen[plan[member]?.name as string];
  return seen;
}
