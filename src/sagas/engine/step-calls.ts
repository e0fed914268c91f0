/**
 * The calls that this process makes for one saga. A host that calls steps itself, in this process, makes them, waits for
 * them and stops them here.
 */
import type { CallCommand } from "../../core/saga/interpreter.ts";
import type { StopReason } from "../../runtime/stoppable.ts";
import type { CallEnd, Pending, PendingCall } from "../driver/saga-host.ts";
import { added, type Run } from "../driver/run.ts";
import type { Breakers } from "./breakers.ts";
import { callStep, type Called, type CallTools } from "./call.ts";
import { callGuarded, type Answer } from "./guarded-call.ts";
import { Eventual, HostedCall, type Stopping } from "./hosted-call.ts";

export interface StepCallTools extends CallTools {
  readonly breakers: Breakers;
}

/** Calls that need more than the step's code: a transaction, or other sagas. */
export interface SpecialCalls {
  inTransaction(call: HostedCall): Promise<Answer>;
  child(call: HostedCall): Answer | Promise<Answer>;
}

const NOTHING = (): void => undefined;
const NONE: readonly never[] = [];

export class StepCalls {
  readonly #tools: StepCallTools;
  readonly #run: Run;
  readonly #stopping: Stopping;
  readonly #special: SpecialCalls;
  #running: readonly HostedCall[] = NONE;
  #wake: () => void = NOTHING;

  constructor(tools: StepCallTools, run: Run, stopping: Stopping, special: SpecialCalls) {
    this.#tools = tools;
    this.#run = run;
    this.#stopping = stopping;
    this.#special = special;
  }

  make(command: CallCommand): PendingCall {
    const call = new HostedCall(this.#stopping, this.#run, command);
    this.#running = added(this.#running, call);
    const answer = answerOf(this.#tools, call, this.#special);
    if (answer instanceof Promise)
      void answer.then(
        (ended) => this.#ended(call, ended),
        (error: unknown) => {
          call.fail(error);
          this.#ended(call, undefined);
        },
      );
    else this.#ended(call, answer);
    return call;
  }

  #ended(call: HostedCall, answer: Answer): void {
    this.#running = this.#running.length === 1 ? NONE : this.#running.filter((one) => one !== call);
    if (!call.isOver)
      call.end(
        typeof answer === "object" && answer.late !== undefined
          ? { ...answer, late: this.#lateAnswer(answer.late) }
          : (answer as CallEnd),
      );
    this.#wake();
  }

  /** The driver goes on without this call, and wakes when the call returns. */
  #lateAnswer(late: Promise<Called | undefined>): Pending<Called | undefined> {
    const pending = new Eventual<Called | undefined>();
    const returned = (answer: Called | undefined): void => {
      pending.end(answer);
      this.#wake();
    };
    late.then(returned, () => returned(undefined));
    return pending;
  }

  /** Resolves when one of these is over, when this long has passed, or at a `wake`. */
  until(pendings: readonly Pending<unknown>[], ms?: number): Promise<void> {
    for (const { isOver } of pendings) if (isOver) return Promise.resolve();
    return new Promise((resolve) => {
      let cancel = NOTHING;
      this.#wake = () => {
        cancel();
        this.#wake = NOTHING;
        resolve();
      };
      if (ms !== undefined) cancel = this.#tools.clock.after(ms, this.#wake);
    });
  }

  /** Aborts the signals of the calls that run, and wakes the driver. */
  stop(reason: StopReason): void {
    for (const call of this.#running) call.stop(reason);
    this.#wake();
  }
}

/** Makes a call of a step, by whatever the step needs for it. */
export function answerOf(
  tools: StepCallTools,
  call: HostedCall,
  special: SpecialCalls,
): Answer | Promise<Answer> {
  const { fallback } = call.step;
  if (fallback !== undefined && call.command.kind === "act")
    return callGuarded(tools.breakers, call, () => unguarded(tools, call, special));
  return unguarded(tools, call, special);
}

function unguarded(tools: StepCallTools, call: HostedCall, special: SpecialCalls): Answer | Promise<Answer> {
  if (call.step.child) return special.child(call);
  return call.step.transaction ? special.inTransaction(call) : callStep(tools, call);
}
