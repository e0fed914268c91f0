/**
 * One step of a group while its act is called: what a call needs to know of its saga, and a call of its own, so that
 * one of several calls can be stopped and the others go on.
 */
import type { SagaState } from "../../core/saga/state.ts";
import { membersFrom } from "../../core/saga/group.ts";
import type { CallContext, Caller } from "./call.ts";
import type { AnySaga } from "../define/definition.ts";
import type { StopReason } from "../../runtime/stoppable.ts";
import type { Run } from "./run.ts";
import type { StepDefinition } from "../define/settings.ts";

export class Member implements Caller {
  readonly results: Record<string, unknown>;
  readonly stepBegunAtMs: number;
  call: CallContext | undefined;
  readonly #run: Run;

  constructor(run: Run, index: number, stepBegunAtMs: number) {
    this.#run = run;
    this.stepBegunAtMs = stepBegunAtMs;
    this.results = resultsBefore(run, index);
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

  get stopReason(): StopReason | undefined {
    return this.#run.stopReason;
  }

  step(name: string): StepDefinition {
    return this.#run.step(name);
  }
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
