/**
 * Wraps the application code of a saga and of its children: records every call and injects the failures of the schedule. Several
 * processes may run in one schedule, one after the other, with the same record.
 */
import { errorLabel, Terminal } from "../../core/errors.ts";
import type { Direction } from "../../core/identity.ts";
import { err, isErr } from "../../core/result.ts";
import { stepOf } from "../../core/saga/part-name.ts";
import { readListing } from "../../core/saga/steps/each.ts";
import type { AnySaga } from "../../sagas/define/definition.ts";
import { OwnOutcome } from "../../sagas/define/own-outcome.ts";
import type { StalledHook } from "../../sagas/define/steps/end.ts";
import type { StepDefinition } from "../../sagas/define/settings.ts";
import type { Middleware } from "../../sagas/engine/call.ts";
import { childId } from "../../sagas/engine/children.ts";
import type { Call } from "./judge.ts";
import { forever, type Mortality } from "../kit/mortality.ts";
import { itemName, nameIn, roundName, sitesOf } from "./tree.ts";
import { KINDS, type Schedule, type Trouble } from "./trouble.ts";

/** The part of a step's context that the rig uses. */
interface CallContext {
  readonly sagaId: string;
  readonly key: string;
  readonly signal: AbortSignal;
  readonly itemKey?: string | undefined;
  readonly round?: number | undefined;
}

/** Calls of one step in one direction, and how often a lasting failure hits one of them. */
interface Site {
  readonly step: string;
  readonly action: Direction;
  readonly retryLimits: number;
}

/** One call: its full name, its key, and what stops it if it does not answer. */
interface Made {
  readonly key: string;
  readonly signal: AbortSignal | undefined;
  /** Its code is of the application: no time passes while it runs. */
  readonly isOwn: boolean;
  readonly run: () => unknown;
}

/** A transient failure. */
class InjectedFailure extends Error {}

export class Rig {
  readonly calls: Call[] = [];
  readonly #running = new Set<Promise<unknown>>();
  readonly #schedule: Schedule;
  readonly #errs: Readonly<Record<string, unknown>>;
  readonly #met = new Map<Trouble, number>();
  /** The children that were started, by id: the name of the step that starts the child. */
  readonly #children = new Map<string, string>();
  #hookFailure: string | undefined;

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

  /** The ids of the children, or those that they will have, with the names of the steps that start them. */
  get children(): ReadonlyMap<string, string> {
    return this.#children;
  }

  /** What `onStalled` threw, in words. */
  get hookFailure(): string | undefined {
    return this.#hookFailure;
  }

  /** True if the waiting step gets no signal or event in this schedule. */
  isUntold(step: string): boolean {
    return this.#isTold(step, "untold");
  }

  /** True if the step gets its signal or event only after its first round. */
  isToldLate(step: string): boolean {
    return this.#isTold(step, "told-late");
  }

  #isTold(step: string, kind: Trouble["kind"]): boolean {
    const found = this.#schedule.find((trouble) => trouble.step === step && trouble.kind === kind);
    if (found) this.#met.set(found, 1);
    return found !== undefined;
  }

  /** The saga with every call of its steps wrapped. A child that several steps start is the same one for all of them. */
  rigged(saga: AnySaga, process: Mortality, known: Map<AnySaga, AnySaga> = new Map()): AnySaga {
    const made = known.get(saga) ?? {
      ...saga,
      stalled: saga.stalled && this.#hook(saga.stalled),
      steps: saga.steps.map((step, index) => this.#step(saga, step, index, process, known)),
    };
    known.set(saga, made);
    return made;
  }

  #step(
    saga: AnySaga,
    step: StepDefinition,
    index: number,
    process: Mortality,
    known: Map<AnySaga, AnySaga>,
  ): StepDefinition {
    const { name, act, compensate, list, child } = step;
    if (step.planned.wait) return step;
    if (child)
      return {
        ...step,
        child: { ...child, saga: this.rigged(child.saga, process, known), id: this.#idOf(step) },
      };
    const retryLimits = retryLimitsOf(saga, step, index);
    const rig =
      (user: StepDefinition["act"], action: Direction): StepDefinition["act"] =>
      (context: CallContext) =>
        this.#make(
          process,
          { step: this.#nameOf(name, context, action), action, retryLimits },
          {
            key: context.key,
            get signal() {
              return context.signal;
            },
            isOwn: true,
            run: () => user(context as never),
          },
        );
    return {
      ...step,
      act: rig(act, "act"),
      compensate: compensate && rig(compensate, "compensate"),
      ...(list && { list: rig(list, "act") }),
    };
  }

  /** Remembers which saga the step starts, before there is one. */
  #idOf({ name, child }: StepDefinition): (context: unknown) => unknown {
    return (context) => {
      const { sagaId } = context as CallContext;
      const id = child?.id ? child.id(context) : childId({ id: sagaId, step: name });
      this.#children.set(String(id), nameIn(this.#pathOf(sagaId), name));
      return id;
    };
  }

  #pathOf(sagaId: string): string {
    return this.#children.get(sagaId) ?? "";
  }

  #nameOf(step: string, { sagaId, itemKey, round }: CallContext, action: Direction): string {
    const name = nameIn(this.#pathOf(sagaId), step);
    if (itemKey !== undefined) return itemName(name, itemKey);
    return round === undefined || action !== "act" ? name : roundName(name, round);
  }

  /** What follows a stall has no tries: if its code throws, the call is not made. */
  #hook(stalled: StalledHook): StalledHook {
    return (context) => {
      try {
        return stalled(context);
      } catch (error) {
        this.#hookFailure = `the input of onStalled could not be computed (${errorLabel(error)})`;
        throw error;
      }
    };
  }

  /** Starting a child and taking it back are no code of the application: a process wraps these calls itself. */
  middleware(saga: AnySaga, process: Mortality): Middleware {
    const sites = sitesOf(saga);
    return (call, next) => {
      const name = nameIn(this.#pathOf(call.sagaId), call.step);
      const site = sites.find((one) => one.name === name);
      if (!site?.step.child) return next();
      const { step, index } = site;
      const retryLimits = call.action === "act" ? retryLimitsOf(site.saga, step, index) : Infinity;
      const given = { step: name, action: call.action, retryLimits };
      return this.#make(process, given, { key: call.key, signal: undefined, isOwn: false, run: next });
    };
  }

  async #make(process: Mortality, site: Site, made: Made): Promise<unknown> {
    const { step, action } = site;
    const call: Call = { step, action, key: made.key, made: false };
    this.calls.push(call);
    const kind = this.#take(site)?.kind;
    if (kind === "err") return err(this.#errs[stepOf(step)]);
    if (kind !== undefined && KINDS[kind].moment === "before") return strike(kind, process, made);
    const answer = await this.#answer(call, made);
    if (kind === "crash-written") process.killWhenWritten();
    else if (kind !== undefined) return strike(kind, process, made);
    return answer();
  }

  /** Runs the application code. Returns a function that delivers its answer or error. */
  async #answer(call: Call, { run, isOwn }: Made): Promise<() => unknown> {
    call.made = true;
    const running = (async () => run())();
    const over = running.catch(() => undefined);
    if (isOwn) this.#running.add(over);
    try {
      const value = await running;
      call.answer = isErr(value) ? "err" : "ok";
      if (value instanceof OwnOutcome) learn(call, value);
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
  #take({ step, action, retryLimits }: Site): Trouble | undefined {
    const found = this.#schedule.find((trouble) => {
      if (trouble.kind === "untold" || trouble.kind === "told-late") return false;
      const often = KINDS[trouble.kind].lasting === true ? retryLimits : 1;
      return trouble.step === step && trouble.action === action && (this.#met.get(trouble) ?? 0) < often;
    });
    if (found) this.#met.set(found, (this.#met.get(found) ?? 0) + 1);
    return found;
  }
}

/** After the pivot a step is retried until it succeeds, so even a lasting failure must end there. */
function retryLimitsOf({ plan }: AnySaga, { planned, retry }: StepDefinition, index: number): number {
  const pivot = plan.findIndex((step) => step.pivot);
  const isForward = pivot >= 0 && index > pivot && !planned.pivot && planned.end === undefined;
  return isForward ? retry.attemptMax : Infinity;
}

/** What a list or a choice answered. */
function learn(call: Call, { outcome }: OwnOutcome): void {
  if (outcome.kind !== "ok") return;
  if (outcome.goesOn) {
    const listings = outcome.goesOn.filter((details) => details.startsWith('{"items":'));
    if (listings.length > 0)
      call.listed = listings.flatMap((details) => readListing(details).items.map(({ key }) => key));
  } else if (outcome.details === "true" || outcome.details === "false")
    call.chosen = outcome.details === "true";
}

async function strike(kind: Trouble["kind"], process: Mortality, { signal }: Made): Promise<never> {
  if (KINDS[kind].crash === true) {
    process.kill();
    return forever<never>();
  }
  if (kind === "terminal") throw new Terminal("prove");
  if (KINDS[kind].limited === true && signal && !signal.aborted) {
    await new Promise<void>((resolve) => {
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }
  throw new InjectedFailure("an injected failure");
}
