/** A call of a step that this process makes for a saga: its inputs, how it is stopped, and its result. */
import type { CallCommand } from "../../core/saga/interpreter.ts";
import { membersFrom } from "../../core/saga/steps/group.ts";
import type { SagaState } from "../../core/saga/state.ts";
import { Stoppable, type StopReason } from "../../runtime/stoppable.ts";
import { CallContext } from "./call-context.ts";
import type { CallRequest } from "./call.ts";
import type { StepDefinition } from "../define/settings.ts";
import type { CallEnd, Pending, PendingCall } from "../driver/saga-host.ts";
import type { Run } from "../driver/run.ts";
import { resultsOf } from "../view/outcome.ts";

/** Something that has a value, or has failed, once it is over. */
export class Eventual<T> implements Pending<T> {
  isOver = false;
  #value: T | undefined;
  #error: Error | undefined;

  /** Throws if it has failed. */
  get value(): T | undefined {
    if (this.#error) throw this.#error;
    return this.#value;
  }

  end(value: T | undefined): void {
    this.isOver = true;
    this.#value = value;
  }

  fail(error: unknown): void {
    this.isOver = true;
    this.#error = error instanceof Error ? error : new Error(String(error));
  }
}

/** Says why calls must stop: it holds for calls that begin later, too. */
export interface Stopping {
  readonly stopReason: StopReason | undefined;
}

export class HostedCall extends Eventual<CallEnd> implements CallRequest, PendingCall {
  readonly run: Run;
  readonly command: CallCommand;
  readonly step: StepDefinition;
  /** The state in which the call was made: what it sees does not change while it runs. */
  readonly #state: SagaState;
  tx: unknown;
  code: CallRequest["code"];
  context: CallContext | undefined;
  readonly #stopping: Stopping;
  #waiting: Stoppable | undefined;

  constructor(stopping: Stopping, run: Run, command: CallCommand) {
    super();
    this.#stopping = stopping;
    this.run = run;
    this.command = command;
    this.step = run.step(command.step);
    this.#state = run.state;
  }

  get results(): Readonly<Record<string, unknown>> {
    return resultsFor(this.#state, this.command);
  }

  get stopReason(): StopReason | undefined {
    return this.#stopping.stopReason;
  }

  /** For waits between two calls in a transaction: fires when the call would be stopped. */
  get signal(): AbortSignal {
    this.#waiting ??= new Stoppable();
    if (this.stopReason !== undefined) this.#waiting.stop(this.stopReason);
    return this.#waiting.signal;
  }

  stop(reason: StopReason): void {
    if (this.context) CallContext.callOf(this.context).stop(reason);
    this.#waiting?.stop(reason);
  }
}

/** Steps that act at the same time do not see each other's results: one that is called again must not see more than before. */
function resultsFor(state: SagaState, { index }: CallCommand): Readonly<Record<string, unknown>> {
  const { plan } = state;
  const seen = resultsOf(state);
  const group = plan[index]?.group;
  if (!group) return seen;
  const first = plan.findIndex((planned) => planned.group?.name === group.name);
  for (const member of membersFrom(plan, first)) delete seen[plan[member]?.name as string];
  return seen;
}
