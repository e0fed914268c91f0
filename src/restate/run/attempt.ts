/**
 * One try of an act or an undo, as a recorded run of Restate. It never throws: it records how the call ended, and everything that
 * could differ at a replay, so that the lines of the log follow from the record alone. A try that its process did not finish has
 * no record; Restate makes it again, under the same key.
 */
import type { RetryPolicy } from "../../core/backoff.ts";
import { AmendsError } from "../../core/errors.ts";
import type { CallCommand, Outcome } from "../../core/saga/interpreter.ts";
import { callName, type Reported } from "../../core/saga/progress.ts";
import type { StopReason } from "../../runtime/stoppable.ts";
import type { Run } from "../../sagas/driver/run.ts";
import type { Called } from "../../sagas/engine/call.ts";
import { HostedCall, type Stopping } from "../../sagas/engine/hosted-call.ts";
import { answerOf, type StepCallTools } from "../../sagas/engine/step-calls.ts";
import type { Emission } from "../../sagas/journal/journal.ts";
import { wallMs } from "../../storage/clock.ts";

/** What a call came to, as it is recorded. */
export interface CallRecord {
  /** By the clock of the process that made the call. */
  readonly endedAtMs: number;
  readonly outcome: Outcome;
  readonly emissions?: readonly Emission[] | undefined;
  /** The act succeeded after its deadline. */
  readonly expired?: boolean | undefined;
}

export interface AttemptRecord extends CallRecord {
  /** An earlier attempt may have made this very call and died: it was in doubt, and this was the next try. */
  readonly again?: boolean | undefined;
  /** The call had outlived its time and had not returned. */
  readonly isLate?: boolean | undefined;
  /** Of a failed call: by what it is tried again. */
  readonly retry?: RetryPolicy | undefined;
  readonly progress?: Reported | undefined;
}

/** A call that has not returned, and the saga's run that made it. */
interface RunningCall {
  readonly maker: Stopping;
  readonly over: Promise<unknown>;
}

/** The calls of this process that have not returned, by their step. */
const running = new Map<string, readonly RunningCall[]>();

export class Attempt {
  readonly command: CallCommand;
  readonly #call: HostedCall;
  readonly #tools: StepCallTools;
  readonly #run: Run;
  readonly #maker: Stopping;
  #late: Promise<Called | undefined> | undefined;

  constructor(tools: StepCallTools, run: Run, maker: Stopping, command: CallCommand) {
    this.#maker = maker;
    this.#tools = tools;
    this.#run = run;
    this.command = command;
    // What the call sees is the state of now, whenever Restate makes the call.
    this.#call = new HostedCall(maker, run, command);
  }

  stop(reason: StopReason): void {
    this.#call.stop(reason);
  }

  /** Makes the call and says what to record. Rejects if the attempt is over: then nothing is recorded. */
  async make(again: boolean): Promise<AttemptRecord> {
    const place = `${this.#run.definition.name} ${this.#run.id} ${this.command.step}`;
    // What an attempt that is over began in this process has to return first (S-12).
    const others = (running.get(place) ?? []).filter(({ maker }) => maker !== this.#maker);
    await Promise.all(others.map(({ over }) => over));
    const made = this.#make(again);
    const over = made.then(
      () => this.#late,
      () => undefined,
    );
    const call: RunningCall = { maker: this.#maker, over };
    running.set(place, [...(running.get(place) ?? []), call]);
    const forget = (): void => {
      const left = running.get(place)?.filter((one) => one !== call) ?? [];
      if (left.length > 0) running.set(place, left);
      else running.delete(place);
    };
    over.then(forget, forget);
    return made;
  }

  /** The answer of a call that had outlived its time. Nothing if another process made it: then nobody can hear it. */
  async outlast(): Promise<CallRecord | null> {
    const called = await this.#late;
    return called ? callRecord(this.#tools, called) : null;
  }

  async #make(again: boolean): Promise<AttemptRecord> {
    const { command, step } = this.#call;
    const called = await answerOf(this.#tools, this.#call, SPECIAL);
    if (typeof called !== "object") throw new Error("The attempt is over: this call has no outcome.");
    this.#late = called.late;
    const policy = command.kind === "act" ? step.retry : step.compensateRetry;
    const progress = this.#run.progress?.get(callName(command));
    return {
      ...callRecord(this.#tools, called),
      ...(again && { again }),
      ...(called.late && { isLate: true }),
      ...(called.outcome.kind === "failed" && { retry: policy, progress }),
    };
  }
}

function callRecord({ clock }: StepCallTools, { outcome, emissions, expired }: Called): CallRecord {
  return {
    endedAtMs: wallMs(clock),
    outcome,
    ...(emissions.length > 0 && { emissions }),
    ...(expired && { expired }),
  };
}

const refuse = (what: string) => (): Promise<never> =>
  Promise.reject(new AmendsError("NOT_SUPPORTED", `${what} does not run on Restate.`));

/** Definitions with such steps are refused when they are served. */
const SPECIAL = { inTransaction: refuse("A transactional step"), child: refuse("A child saga") };
