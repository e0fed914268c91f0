/** One step of a saga over events: a handler, and the command that asks for its work to be undone. */
import { positiveMs, type Duration } from "../../core/duration.ts";
import { AmendsError } from "../../core/errors.ts";
import { sealOf } from "../../core/flow/sealed.ts";
import { checkName } from "../../core/identity.ts";
import { refuseUnknown } from "../../core/options.ts";
import type { AnyEvent, EventValue } from "./event.ts";
import type { AnyHandler } from "./handler.ts";
import { givesOf, isEventType, readTakes, type AnyAnswer, type GivesOf } from "./several.ts";
import { SagaContractViolation } from "./violation.ts";

/** The options of `step`. */
export interface SagaStepOptions<
  Compensation extends AnyEvent | undefined = AnyEvent | undefined,
  End extends AnyEvent = AnyEvent,
> {
  /** The command that undoes this step. It holds only the id of the process; its handler reads the current state. */
  readonly compensation?: Compensation;
  /** How long the step may take, with all attempts and waits. After that the saga compensates. Default: none. */
  readonly deadline?: Duration;
  /**
   * The answers of the step that no later step takes, because they end the run, or its branch. Default: none, except
   * all answers of the last step.
   */
  readonly ends?: readonly End[];
}

/** One step of a saga over events, made by `step(…)`. It cannot be changed. */
export class SagaStep<
  Name extends string = string,
  H extends AnyHandler = AnyHandler,
  Compensation extends AnyEvent | undefined = AnyEvent | undefined,
  End extends AnyEvent = AnyEvent,
> {
  /** The name under which runs record that it is done. */
  readonly name: Name;
  /** The handler that does it. */
  readonly handler: H;
  /** The command that undoes it. */
  readonly compensation: Compensation;
  /** How long it may take, with all attempts and waits. */
  readonly deadlineMs: number | undefined;
  /** The answers that end the run, or its branch. */
  readonly ends: readonly End[];

  /** Use `step(…)`. */
  constructor(name: Name, handler: H, options: SagaStepOptions<Compensation, End> = {}) {
    checkName(name, "A step's name");
    refuseUnknown(options, ["compensation", "deadline", "ends"], `Step ${name}`);
    if (typeof handler !== "object" || handler === null || !readTakes(handler.on)) {
      throw new AmendsError("BAD_DEFINITION", `Step ${name} needs a handler, made by \`handler(…)\`.`);
    }
    const { compensation, deadline, ends = [] } = options;
    if (compensation !== undefined && !isEventType(compensation)) {
      throw new AmendsError("BAD_DEFINITION", `Step ${name}: \`compensation\` must be an event.`);
    }
    const gives = givesOf(handler).map(({ type }) => type);
    if (!Array.isArray(ends) || !ends.every((event) => isEventType(event) && gives.includes(event.type)))
      throw new AmendsError(
        "BAD_DEFINITION",
        `Step ${name}: \`ends\` must be a list of events that its handler gives: ${gives.join(", ")}.`,
      );
    this.name = name;
    this.handler = handler;
    this.compensation = compensation as Compensation;
    this.deadlineMs = deadline === undefined ? undefined : positiveMs(deadline, `Step ${name}: deadline`);
    this.ends = ends;
    Object.freeze(this);
  }

  /** The event of its success, or `oneOf(…)` several: what its handler promises. */
  get success(): H["ok"] {
    return this.handler.ok;
  }

  /** The event of its failure: what its handler promises. */
  get failure(): H["err"] {
    return this.handler.err;
  }

  /** Returns the event of the step's success. Throws a SagaContractViolation for anything else. */
  checkSuccess(event: unknown): EventValue {
    return this.#checked(event, this.success);
  }

  /** Returns the event of the step's failure. Throws a SagaContractViolation for anything else. */
  checkFailure(event: unknown): EventValue {
    return this.#checked(event, this.failure);
  }

  #checked(event: unknown, promised: AnyAnswer): EventValue {
    const given = sealOf(event)?.type;
    if (givesOf({ ok: promised }).some(({ type }) => type === given)) return event as EventValue;
    throw new SagaContractViolation(
      `Step ${this.name} promises ${promised.type}, but handler ${this.handler.name} returned ${given ?? "a value that is not an event"}.`,
    );
  }
}

/** Makes a step of a saga: a name, the handler that does it, and the command that undoes it. */
export function step<
  const Name extends string,
  H extends AnyHandler,
  Compensation extends AnyEvent | undefined = undefined,
  End extends GivesOf<H["ok"]> = never,
>(
  name: Name,
  handler: H,
  options: SagaStepOptions<Compensation, End> = {},
): SagaStep<Name, H, Compensation, NoInfer<End>> {
  return new SagaStep(name, handler, options);
}
