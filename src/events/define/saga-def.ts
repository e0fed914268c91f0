/**
 * The definition of a saga over events: its trigger, its correlation field, the handlers of its steps, and the
 * events that it publishes at its end.
 */
import { positiveMs, type Duration } from "../../core/duration.ts";
import { AmendsError } from "../../core/errors.ts";
import { sealOf } from "../../core/flow/sealed.ts";
import type { FlowFailure } from "../../core/flow/state.ts";
import { checkId, checkName } from "../../core/identity.ts";
import { refuseUnknown } from "../../core/options.ts";
import type { Checked, FieldOf, IdOf } from "./chain.ts";
import { checkPaths } from "./chain-check.ts";
import type { AnyEvent, EventValue } from "./event.ts";
import { isEventType } from "./several.ts";
import { SagaStep } from "./saga-step.ts";
import { SagaContractViolation } from "./violation.ts";

export type SagaSteps = readonly [SagaStep, ...SagaStep[]];

/** How an id that is not a string is stored. */
export interface IdSerialisation<Id> {
  /** The id as text. Equal ids give equal texts. */
  serialize(id: Id): string;
  /** The id that the text was made from. */
  deserialize(raw: string): Id;
}

/** Functions that make events may be asynchronous, for example to read data for the event. */
type Made<Event> = Event | Promise<Event>;

type Compensator<Id> = (id: Id, step: SagaStep) => Made<EventValue | undefined>;

interface Basics<Trigger extends AnyEvent, Field extends FieldOf<Trigger>, Steps extends SagaSteps> {
  /** The type of event that starts a run. */
  readonly trigger: Trigger;
  /** The field that identifies the process of an event. Every event of the saga has it. */
  readonly correlate: Field;
  /**
   * The steps, in order. The first handles the trigger. Each other one handles the success event of an earlier step, or
   * all of several: steps that take the same event run beside each other, and an answer of `oneOf(…)` chooses the branch.
   */
  readonly steps: Steps & Checked<Trigger, Field, Steps>;
  /** Makes the event that is published when all steps are done. */
  onCompleted(id: IdOf<Trigger, Field>): Made<EventValue>;
  /** Makes the event that is published when every completed step is undone. */
  onFailed(id: IdOf<Trigger, Field>, failure: FlowFailure): Made<EventValue>;
  /**
   * Makes the command that undoes a step, if the command needs more than the id. Undefined means that there is nothing
   * to undo.
   */
  onCompensate?(id: IdOf<Trigger, Field>, step: SagaStep): Made<EventValue | undefined>;
  /** How long a run may take until its last step is done. After that it compensates. Default: none. */
  readonly deadline?: Duration;
}

/** An id that is not a string needs a serialisation. */
type Identified<Id> = [Id] extends [string]
  ? { readonly id?: IdSerialisation<Id> }
  : { readonly id: IdSerialisation<Id> };

/** The parts of a saga over events. */
export type EventSagaOptions<
  Trigger extends AnyEvent,
  Field extends FieldOf<Trigger>,
  Steps extends SagaSteps,
> = Basics<Trigger, Field, Steps> & Identified<IdOf<Trigger, Field>>;

/** As the engine sees it. */
interface Given {
  readonly trigger: AnyEvent;
  readonly correlate: string;
  readonly steps: readonly SagaStep[];
  onCompleted(id: unknown): Made<EventValue>;
  onFailed(id: unknown, failure: FlowFailure): Made<EventValue>;
  readonly onCompensate?: Compensator<unknown> | undefined;
  readonly id?: IdSerialisation<unknown>;
  readonly deadline?: Duration;
}

const OPTIONS = [
  "trigger",
  "correlate",
  "steps",
  "onCompleted",
  "onFailed",
  "onCompensate",
  "deadline",
  "id",
];

/** A saga over events, made by `eventSaga(…)`. */
export class SagaDef<Trigger extends AnyEvent = AnyEvent, Id = unknown> {
  /** The name under which its runs are stored. Do not change it while runs are open. */
  readonly name: string;
  /** The event that begins a run. */
  readonly trigger: Trigger;
  /** The field by which its events are correlated. */
  readonly correlationField: string;
  /** The steps, in their order. */
  readonly steps: readonly SagaStep[];
  /** How long a run may take until its last step is done. */
  readonly deadlineMs: number | undefined;
  readonly #given: Given;
  /** Only for the compiler. */
  readonly types?: { readonly id: Id };

  /** Use `eventSaga(…)`, which checks the types. */
  constructor(name: string, given: Given & { readonly trigger: Trigger }) {
    this.name = checkName(name, "A saga's name");
    const where = `Saga ${name}`;
    refuseUnknown(given, OPTIONS, where);
    if (!isEventType(given.trigger)) throw bad(where, "`trigger` must be an event, made by `event(…)`");
    if (typeof given.correlate !== "string" || given.correlate === "")
      throw bad(where, "`correlate` must name a field");
    const { steps } = given;
    if (!Array.isArray(steps) || steps.length === 0 || !steps.every((one) => one instanceof SagaStep)) {
      throw bad(where, "`steps` must be a list of at least one `step(…)`");
    }
    if (typeof given.onCompleted !== "function" || typeof given.onFailed !== "function") {
      throw bad(where, "`onCompleted` and `onFailed` must be functions that make an event");
    }
    this.#given = given;
    this.trigger = given.trigger;
    this.correlationField = given.correlate;
    this.steps = given.steps;
    this.deadlineMs =
      given.deadline === undefined ? undefined : positiveMs(given.deadline, `${where}: deadline`);
    this.#checkChain(where);
  }

  /** `onCompensate` makes the commands that undo. */
  get makesCommands(): boolean {
    return this.#given.onCompensate !== undefined;
  }

  /** The step with this name. */
  step(name: string): SagaStep | undefined {
    return this.steps.find((one) => one.name === name);
  }

  /** The id as it is stored. */
  serializeId(id: unknown): string {
    const { id: serialisation } = this.#given;
    const raw: unknown = serialisation ? serialisation.serialize(id) : id;
    if (typeof raw !== "string") {
      throw new SagaContractViolation(
        `Saga ${this.name}: ${this.correlationField} is not a string. Give the saga \`id: { serialize, deserialize }\`.`,
      );
    }
    return checkId(raw, `Saga ${this.name}: ${this.correlationField}`);
  }

  /** The id that was stored as this text. */
  deserializeId(raw: string): unknown {
    return this.#given.id ? this.#given.id.deserialize(raw) : raw;
  }

  /** The id, as it is stored, of the process that an event of this saga belongs to. */
  getProcessId(event: object): string {
    const id = (event as Readonly<Record<string, unknown>>)[this.correlationField];
    if (id === undefined || id === null) {
      throw new SagaContractViolation(
        `Saga ${this.name}: the event ${sealOf(event)?.type ?? ""} has no ${this.correlationField}, by which the saga correlates.`,
      );
    }
    return this.serializeId(id);
  }

  /** Throws unless a step's answer belongs to the process that the step was done for. */
  checkProcess(event: object, processId: string): void {
    if (this.getProcessId(event) === processId) return;
    throw new SagaContractViolation(
      `Saga ${this.name}: a handler answered with ${sealOf(event)?.type ?? ""} of another ${this.correlationField} than it was called for.`,
    );
  }

  /** The event that is sent when all steps are done. */
  async onCompleted(processId: string): Promise<EventValue> {
    return this.#made("onCompleted", await this.#given.onCompleted(this.deserializeId(processId)));
  }

  /** The event that is sent when everything that was done is undone. */
  async onFailed(processId: string, failure: FlowFailure): Promise<EventValue> {
    return this.#made("onFailed", await this.#given.onFailed(this.deserializeId(processId), failure));
  }

  /** The command that undoes a step; undefined if there is nothing to undo. */
  async onCompensate(processId: string, step: SagaStep): Promise<EventValue | undefined> {
    const id = this.deserializeId(processId);
    const { onCompensate } = this.#given;
    const command = onCompensate
      ? await onCompensate(id, step)
      : step.compensation?.({ [this.correlationField]: id } as never);
    if (command === undefined) return undefined;
    const made = this.#made("onCompensate", command);
    if (made.type !== step.compensation?.type) {
      throw new SagaContractViolation(
        `Saga ${this.name}: onCompensate made ${made.type} for step ${step.name}, which declares ${step.compensation?.type ?? "no compensation"}.`,
      );
    }
    return made;
  }

  #made(what: string, event: EventValue): EventValue {
    if (sealOf(event) !== undefined) return event;
    throw new SagaContractViolation(`Saga ${this.name}: ${what} must make an event with \`event(…)\`.`);
  }

  #checkChain(where: string): void {
    const names = new Set<string>();
    for (const { name, compensation } of this.steps) {
      const more = this.makesCommands
        ? undefined
        : compensation?.requires().find((field) => field !== this.correlationField);
      if (more !== undefined) {
        throw new SagaContractViolation(
          `${where}: ${compensation?.type ?? ""} needs more than ${this.correlationField}, at least ${more}: make it in \`onCompensate\`.`,
        );
      }
      if (names.has(name)) throw bad(where, `there are two steps named ${name}`);
      names.add(name);
    }
    checkPaths(where, this.trigger, this.steps);
  }
}

/** Any saga over events, whatever its trigger and its id. */
export type AnySagaDef = SagaDef;

function bad(where: string, why: string): AmendsError {
  return new AmendsError("BAD_DEFINITION", `${where}: ${why}.`);
}

/** Defines a saga over events. */
export function eventSaga<
  Trigger extends AnyEvent,
  const Field extends FieldOf<Trigger>,
  const Steps extends SagaSteps,
>(name: string, options: EventSagaOptions<Trigger, Field, Steps>): SagaDef<Trigger, IdOf<Trigger, Field>> {
  return new SagaDef(name, options as unknown as Given & { readonly trigger: Trigger });
}
