/**
 * Wraps the application code of a saga: records every call and injects the failures of the schedule. Several
 * processes may run in one schedule, one after the other, with the same record.
 */
import { Terminal } from "../../core/errors.ts";
import type { Direction } from "../../core/identity.ts";
import { err, isErr } from "../../core/result.ts";
import type { AnySaga } from "../../sagas/define/definition.ts";
import type { StepDefinition } from "../../sagas/define/settings.ts";
import type { Call } from "./judge.ts";
import { forever, type Mortality } from "../kit/mortality.ts";
import { KINDS, type Schedule, type Trouble } from "./trouble.ts";

/** The part of a step's context that the rig uses. */
interface CallContext {
  readonly key: string;
  readonly signal: AbortSignal;
}

/** One call, and how often a lasting failure hits it. */
interface Site {
  readonly step: string;
  readonly action: Direction;
  readonly retryLimits: number;
  readonly user: StepDefinition["act"];
}

/** A transient failure. */
class InjectedFailure extends Error {}

export class Rig {
  readonly calls: Call[] = [];
  readonly #running = new Set<Promise<unknown>>();
  readonly #schedule: Schedule;
  readonly #errs: Readonly<Record<string, unknown>>;
  readonly #met = new Map<Trouble, number>();

  constructor(schedule: Schedule, errs: Readonly<Record<string, unknown>>) {
    this.#schedule = schedule;
    this.#errs = errs;
  }

  /** Resolves when one of the running application calls has ended; undefined if none runs. */
  get running(): Promise<unknown> | undefined {
    return this.#running.size === 0 ? undefined : Promise.race(this.#running);
  }

  /** Failures of the schedule that met no call. */
  get unmet(): readonly Trouble[] {
    return this.#schedule.filter((trouble) => !this.#met.has(trouble));
  }

  /** True if the waiting step gets no signal or event in this schedule. */
  isUntold(step: string): boolean {
    return this.#take({ step, action: "act", retryLimits: Infinity }) !== undefined;
  }

  /** The saga with every call of its steps wrapped. */
  rigged(saga: AnySaga, process: Mortality): AnySaga {
    const pivot = saga.plan.findIndex((step) => step.pivot);
    const rig =
      (site: Site): StepDefinition["act"] =>
      (context: CallContext) =>
        this.#call(process, site, context);
    const steps = saga.steps.map((step, index): StepDefinition => {
      if (step.planned.wait) return step;
      const { name, act, compensate } = step;
      // After the pivot a step is retried until it succeeds, so even a lasting failure must end there.
      const isForward = pivot >= 0 && index > pivot && !step.planned.pivot;
      const retryLimits = isForward ? step.retry.attemptMax : Infinity;
      return {
        ...step,
        act: rig({ step: name, action: "act", retryLimits, user: act }),
        compensate:
          compensate && rig({ step: name, action: "compensate", retryLimits: Infinity, user: compensate }),
      };
    });
    return { ...saga, steps };
  }

  async #call(process: Mortality, site: Site, context: CallContext): Promise<unknown> {
    const { step, action, user } = site;
    const call: Call = { step, action, key: context.key, made: false };
    this.calls.push(call);
    const kind = this.#take(site)?.kind;
    if (kind === "err") return err(this.#errs[step]);
    if (kind !== undefined && KINDS[kind].moment === "before") return strike(kind, process, context);
    const answer = await this.#answer(call, () => user(context as never));
    if (kind === "crash-written") process.killWhenWritten();
    else if (kind !== undefined) return strike(kind, process, context);
    return answer();
  }

  /** Runs the application code. Returns a function that delivers its answer or error. */
  async #answer(call: Call, run: () => unknown): Promise<() => unknown> {
    call.made = true;
    const running = (async () => run())();
    const over = running.catch(() => undefined);
    this.#running.add(over);
    try {
      const value = await running;
      call.answer = isErr(value) ? "err" : "ok";
      return () => value;
    } catch (error) {
      call.answer = "thrown";
      return () => {
        throw error;
      };
    } finally {
      this.#running.delete(over);
    }
  }

  /** The first failure of the schedule for this call that has not been injected often enough. */
  #take({ step, action, retryLimits }: Omit<Site, "user">): Trouble | undefined {
    const found = this.#schedule.find((trouble) => {
      const often = KINDS[trouble.kind].lasting === true ? retryLimits : 1;
      return trouble.step === step && trouble.action === action && (this.#met.get(trouble) ?? 0) < often;
    });
    if (found) this.#met.set(found, (this.#met.get(found) ?? 0) + 1);
    return found;
  }
}

async function strike(kind: Trouble["kind"], process: Mortality, { signal }: CallContext): Promise<never> {
  if (KINDS[kind].crash === true) {
    process.kill();
    return forever<never>();
  }
  if (kind === "terminal") throw new Terminal("prove");
  if (KINDS[kind].limited === true && !signal.aborted) {
    await new Promise<void>((resolve) => {
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }
  throw new InjectedFailure("an injected failure");
}
