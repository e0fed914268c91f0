/** One step of a saga over events: a handler, and the command that asks for its work to be undone. */
import { positiveMs, type Duration } from "../../core/duration.ts";
import { AmendsError } from "../../core/errors.ts";
import { sealOf } from "../../core/flow/sealed.ts";
import { checkName } from "../../core/identity.ts";
import { refuseUnknown } from "../../core/options.ts";
import type { AnyEvent, EventValue } from "./event.ts";
import { isEventType, type AnyHandler } from "./handler.ts";
import { SagaContractViolation } from "./violation.ts";

/** The options of `step`. */
export interface SagaStepOptions<Compensation extends AnyEvent | undefined = AnyEvent | undefined> {
  /** The command that undoes this step. It holds only the id of the process; its handler reads the current state. */
  readonly compensation?: Compensation;
  /** How long the step may take, with all attempts and waits. After that the saga compensates. Default: none. */
  readonly deadline?: Duration;
}

/** One step of a saga over events, made by `step(…)`. It cannot be changed. */
export class SagaStep<
  Name extends string = string,
  H extends AnyHandler = AnyHandler,
  Compensation extends AnyEvent | undefined = AnyEvent | undefined,
> {
  /** The name under which runs record that it is done. */
  readonly name: Name;
  /** The handler that does it. */
  readonly handler: H;
  /** The command that undoes it. */
  readonly compensation: Compensation;
  /** How long it may take, with all attempts and waits. */
  readonly deadlineMs: number | undefined;

  /** Use `step(…)`. */
  constructor(name: Name, handler: H, options: SagaStepOptions<Compensation> = {}) {
    checkName(name, "A step's name");
    refuseUnknown(options, ["compensation", "deadline"], `Step ${name}`);
    if (typeof handler !== "object" || handler === null || !isEventType(handler.on)) {
      throw new AmendsError("BAD_DEFINITION", `Step ${name} needs a handler, made by \`handler(…)\`.`);
    }
    const { compensation, deadline } = options;
    if (compensation !== undefined && !isEventType(compensation)) {
      throw new AmendsError("BAD_DEFINITION", `Step ${name}: \`compensation\` must be an event.`);
    }
    this.name = name;
    this.handler = handler;
    this.compensation = compensation as Compensation;
    this.deadlineMs = deadline === undefined ? undefined : positiveMs(deadline, `Step ${name}: deadline`);
    Object.freeze(this);
  }

  /** The event of its success: what its handler promises. */
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

  #checked(event: unknown, promised: AnyEvent): EventValue {
    const given = sealOf(event)?.type;
    if (given === promised.type) return event as EventValue;
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
>(name: Name, handler: H, options: SagaStepOptions<Compensation> = {}): SagaStep<Name, H, Compensation> {
  return new SagaStep(name, handler, options);
}
