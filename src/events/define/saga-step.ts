/** One step of a saga over events: a handler, and the command that asks for its work to be undone. */
import { positiveMs, type Duration } from "../../core/duration.ts";
import { AmendsError } from "../../core/errors.ts";
import { sealOf } from "../../core/flow/sealed.ts";
import { checkName } from "../../core/identity.ts";
import { refuseUnknown } from "../../core/options.ts";
import type { AnyEvent } from "./event.ts";
import { isEventType, type AnyHandler } from "./handler.ts";
import { SagaContractViolation } from "./violation.ts";

export interface SagaStepOptions<Compensation extends AnyEvent | undefined = AnyEvent | undefined> {
  /** The command that undoes this step. It says which process, no more: whoever handles it looks at how things are now. */
  readonly compensation?: Compensation;
  /** The longest that the step may take, all tries and waits included: then the saga turns back. */
  readonly deadline?: Duration;
}

export class SagaStep<
  Name extends string = string,
  H extends AnyHandler = AnyHandler,
  Compensation extends AnyEvent | undefined = AnyEvent | undefined,
> {
  readonly name: Name;
  readonly handler: H;
  readonly compensation: Compensation;
  readonly deadlineMs: number | undefined;

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
  }

  get success(): H["ok"] {
    return this.handler.ok;
  }

  get failure(): H["err"] {
    return this.handler.err;
  }

  /** Throws a SagaContractViolation unless this is the event of the step's success. */
  checkSuccess(event: unknown): void {
    this.#check(event, this.success);
  }

  checkFailure(event: unknown): void {
    this.#check(event, this.failure);
  }

  #check(event: unknown, wanted: AnyEvent): void {
    const given = sealOf(event)?.type;
    if (given === wanted.type) return;
    throw new SagaContractViolation(
      `Step ${this.name} promises ${wanted.type}, but its handler gave ${given ?? "something that is no event"}.`,
    );
  }
}

/** Names a handler's place in a saga. */
export function step<
  const Name extends string,
  H extends AnyHandler,
  Compensation extends AnyEvent | undefined = undefined,
>(name: Name, handler: H, options: SagaStepOptions<Compensation> = {}): SagaStep<Name, H, Compensation> {
  return new SagaStep(name, handler, options);
}
