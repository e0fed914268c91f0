/**
 * The registered handlers and sagas of this process, checked against each other before anything runs: which handler
 * receives which event, and which handler is which saga's step.
 */
import { AmendsError } from "../../core/errors.ts";
import { deliveryId, handlerHash } from "../../core/flow/sealed.ts";
import type { FlowPlan, FlowStep } from "../../core/flow/state.ts";
import { sagaRecipient } from "../../core/flow/subscription.ts";
import type { AnySaga } from "../../sagas/define/definition.ts";
import { mismatchOf, type TransactionOffer } from "../../sagas/define/transaction-kind.ts";
import type { Registration } from "../subscriptions/queries.ts";
import type { Consumer } from "./consumer.ts";
import type { AnyEvent } from "./event.ts";
import { pathPlan } from "./chain-check.ts";
import { givesOf, isEventType, readTakes, takesOf } from "./several.ts";
import { isHandler, WEBHOOK_PREFIX, type Subscriber } from "./subscriber.ts";
import { waitHandler } from "./wait-handler.ts";
import { SagaDef, type AnySagaDef } from "./saga-def.ts";
import type { SagaStep } from "./saga-step.ts";
import { SagaContractViolation } from "./violation.ts";

/** The saga and the step that a handler belongs to. */
export interface SagaPlace {
  /** The saga. */
  readonly saga: AnySagaDef;
  /** The step that the handler does. */
  readonly step: SagaStep;
}

/** The saga and the step of each handler, by the handler's name. */
export type HandlerSagaMapping = ReadonlyMap<string, SagaPlace>;

/** Maps handlers to the steps of these sagas. Throws a `SagaContractViolation` for a handler of two steps. */
export function buildHandlerSagaMapping(sagas: readonly AnySagaDef[]): HandlerSagaMapping {
  const mapping = new Map<string, SagaPlace>();
  for (const saga of sagas) {
    for (const step of saga.steps) {
      const { name } = step.handler;
      const other = mapping.get(name);
      if (other) {
        throw new SagaContractViolation(
          `Handler ${name} is step ${other.step.name} of saga ${other.saga.name}, so it cannot be step ${step.name} of saga ${saga.name}, too. Define a second handler that calls the same function.`,
        );
      }
      mapping.set(name, { saga, step });
    }
  }
  return mapping;
}

const NO_HANDLERS: readonly Subscriber[] = [];

/** What the option `events` of `new Amends` holds: handlers, consumers, and sagas over events with the handlers of their steps. */
export type EventDefinition = Subscriber | AnySagaDef;

/** Handlers and sagas over events that know of each other. `new Amends({ events })` makes one of its own. */
export class SagaRegistry {
  /** Which handler is which saga's step. */
  readonly mapping: HandlerSagaMapping;
  readonly #offer: TransactionOffer | undefined;
  readonly #sagas: ReadonlyMap<string, AnySagaDef>;
  readonly #handlers = new Map<string, Subscriber>();
  readonly #subscribers = new Map<string, Subscriber[]>();
  readonly #events = new Map<string, AnyEvent>();
  readonly #plans = new Map<string, FlowPlan>();
  /** The correlation fields of waiting sagas, by the internal handler of their event. */
  readonly #waits = new Map<string, Set<string>>();

  /** Throws `BAD_DEFINITION` or a `SagaContractViolation` if the definitions contradict each other. */
  constructor(
    definitions: readonly EventDefinition[],
    offer?: TransactionOffer,
    waiting: readonly AnySaga[] = [],
    internal: readonly Consumer[] = [],
  ) {
    if (!Array.isArray(definitions)) throw bad("`events` must be a list of handlers and event sagas.");
    const isSaga = (one: EventDefinition): one is AnySagaDef => one instanceof SagaDef;
    this.#offer = offer;
    this.#sagas = byName(definitions.filter(isSaga));
    const sagas = [...this.#sagas.values()];
    this.mapping = buildHandlerSagaMapping(sagas);
    for (const one of definitions as readonly EventDefinition[]) if (!isSaga(one)) this.#addHandler(one);
    for (const one of internal) this.#addHandler(one);
    for (const saga of sagas) this.#addSaga(saga);
    for (const saga of sagas) this.#plans.set(saga.name, this.#planOf(saga));
    for (const saga of waiting) this.addWaits(saga);
    this.#refuseSameIds();
  }

  /** @internal From now on events go to the sagas of this definition that wait for them. */
  addWaits({ steps }: AnySaga): void {
    for (const { interests = [] } of steps)
      for (const { event, field } of interests) this.#addWait(event, field);
    this.#refuseSameIds();
  }

  /** True if it has no handler. */
  get isEmpty(): boolean {
    return this.#handlers.size === 0;
  }

  /** The handler or consumer with this name. */
  handler(name: string): Subscriber | undefined {
    return this.#handlers.get(name);
  }

  /** The saga with this name. */
  saga(name: string): AnySagaDef | undefined {
    return this.#sagas.get(name);
  }

  /** @internal */
  plan(saga: AnySagaDef): FlowPlan {
    return this.#plans.get(saga.name) as FlowPlan;
  }

  /** @internal The correlation fields of waiting sagas, if this is their internal handler. */
  waitedFields(handler: string): ReadonlySet<string> | undefined {
    return this.#waits.get(handler);
  }

  /** The handlers and consumers of this event. */
  subscribers(type: string): readonly Subscriber[] {
    return this.#subscribers.get(type) ?? NO_HANDLERS;
  }

  /**
   * Deliveries that this process can read, as `handler@version`: those of newer versions are left to newer
   * processes.
   */
  get deliverable(): readonly string[] {
    const handlers = [...this.#handlers.values()].flatMap((one) => laneNames(one.name, takesOf(one)));
    const sagas = [...this.#sagas.values()].flatMap(({ name, steps }) =>
      laneNames(
        sagaRecipient(name),
        steps.flatMap(({ handler }) => takesOf(handler)),
      ),
    );
    return [...handlers, ...sagas];
  }

  /**
   * What a worker registers in the database, in the order of its key: every handler and consumer, for each event that it
   * takes, and of which saga and step it is.
   */
  get registrations(): readonly Registration[] {
    const all = [...this.#handlers.values()].flatMap((one) =>
      takesOf(one).map((event) => this.#registrationOf(one, event)),
    );
    return all.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  }

  #registrationOf(one: Subscriber, { type: event, version }: AnyEvent): Registration {
    const place = this.mapping.get(one.name);
    const undone = place ? undefined : this.#undoneBy(event);
    const { saga, step } = place ?? undone ?? {};
    const recipient = place ? sagaRecipient(place.saga.name) : one.name;
    return {
      event,
      handler: one.name,
      kind: place ? "step" : undone ? "undo" : isHandler(one) ? "handler" : "consumer",
      version,
      saga: saga?.name,
      step: step?.name,
      recipient,
      hash: handlerHash(recipient),
    };
  }

  /** The first step that this command undoes. */
  #undoneBy(type: string): SagaPlace | undefined {
    for (const saga of this.#sagas.values()) {
      const step = saga.steps.find(({ compensation }) => compensation?.type === type);
      if (step) return { saga, step };
    }
    return undefined;
  }

  /** Events that this process has handlers for, as `name@version`. */
  get routable(): readonly string[] {
    return [...this.#subscribers.keys()].flatMap((type) => {
      const event = this.#events.get(type);
      return event ? versionsOf(event).map((n) => `${type}@${n}`) : [];
    });
  }

  #addHandler(handler: Subscriber): void {
    if (typeof handler !== "object" || typeof handler?.handle !== "function") {
      throw bad("`events` takes what `handler(…)`, `consumer(…)` and `eventSaga(…)` make, and nothing else.");
    }
    const { name, on, transaction } = handler;
    const takes = readTakes(on) ?? [];
    if (takes.length > 1 && !this.mapping.has(name)) {
      throw bad(
        `Handler ${name} takes all of ${takes.map(({ type }) => type).join(", ")}, so it must be a step of an event saga: only a saga knows when all of them have arrived.`,
      );
    }
    const known = this.#handlers.get(name);
    if (known && contractOf(known) !== contractOf(handler)) {
      throw bad(
        `Two handlers are named ${name}: one is ${contractOf(known)}, the other one ${contractOf(handler)}. Rename one of them.`,
      );
    }
    const mismatch = transaction && mismatchOf(transaction, this.#offer);
    if (mismatch !== undefined) throw bad(`Handler ${name} ${mismatch}`);
    for (const event of takes) this.#addEvent(event);
    for (const event of isHandler(handler) ? [...givesOf(handler), handler.err] : []) this.#addEvent(event);
    // The same definition, loaded twice: two bundles, or a module that was loaded again. The newer one runs.
    this.#handlers.set(name, handler);
    for (const { type } of takes) {
      const others = this.subscribers(type).filter((other) => other.name !== name);
      this.#subscribers.set(type, [...others, handler]);
    }
  }

  #addWait(event: unknown, field: string): void {
    if (!isEventType(event)) throw bad("An event that a saga waits for must be made by `event(…)`.");
    const handler = waitHandler(event);
    const fields = this.#waits.get(handler.name);
    if (fields) this.#addEvent(event);
    else this.#addHandler(handler);
    this.#waits.set(handler.name, new Set([...(fields ?? []), field]));
  }

  #addEvent(event: AnyEvent): void {
    const known = this.#events.get(event.type);
    if (known && known !== event && formOf(known) !== formOf(event)) {
      throw bad(
        `Two events are named ${event.type}: one is ${formOf(known)}, the other one ${formOf(event)}. Define it once, and give it a version when it changes.`,
      );
    }
    this.#events.set(event.type, event);
  }

  #addSaga(saga: AnySagaDef): void {
    this.#addEvent(saga.trigger);
    for (const { handler, compensation } of saga.steps) {
      this.#addHandler(handler);
      if (compensation) this.#addEvent(compensation);
    }
  }

  /**
   * A command goes to one handler, which is not a step itself; without a handler, the run does not wait for an
   * answer.
   */
  #planOf(saga: AnySagaDef): FlowPlan {
    const path = pathPlan(saga.trigger, saga.steps);
    const steps = saga.steps.map(({ name, compensation }, index) => {
      const step = path.steps[index] as FlowStep;
      if (!compensation) return step;
      const receivers = this.subscribers(compensation.type);
      const acting = receivers.find((receiver) => this.mapping.has(receiver.name));
      if (acting) {
        throw new SagaContractViolation(
          `Saga ${saga.name}: ${compensation.type} undoes step ${name}, so handler ${acting.name}, which takes it, cannot be a step of a saga.`,
        );
      }
      const webhook = receivers.find((receiver) => receiver.name.startsWith(WEBHOOK_PREFIX));
      if (webhook) {
        throw new SagaContractViolation(
          `Saga ${saga.name}: ${compensation.type} is the command that undoes step ${name}, so it cannot be a webhook as well: leave it out of webhooks.events.`,
        );
      }
      if (receivers.length > 1) {
        throw new SagaContractViolation(
          `Saga ${saga.name}: ${compensation.type} is a command, so one handler takes it, not ${receivers.length} (${receivers.map((receiver) => receiver.name).join(", ")}).`,
        );
      }
      return { ...step, undo: receivers.length === 1 ? ("answered" as const) : ("sent" as const) };
    });
    return { ...path, steps };
  }

  /** Delivery ids contain a 32-bit hash of the handler's name. A collision is very unlikely, but refused. */
  #refuseSameIds(): void {
    const event = "00000000-0000-0000-0000-000000000000";
    const seen = new Map([[event, "no handler at all"]]);
    for (const name of [...this.#handlers.keys(), ...[...this.#sagas.keys()].map(sagaRecipient)]) {
      const id = deliveryId(event, name);
      const other = seen.get(id);
      if (other !== undefined)
        throw bad(`Handler ${name} has the same 32-bit hash as ${other}. Rename one of them.`);
      seen.set(id, name);
    }
  }
}

/** A handler's contract: two handlers with the same name and contract are one definition. */
function contractOf(handler: Subscriber): string {
  const { on, transaction } = handler;
  const kind = transaction ? ` in a transaction of ${transaction.client ?? transaction.dialect}` : "";
  const answers = isHandler(handler) ? `${handler.ok.type} | ${handler.err.type}` : "nothing";
  return `${on.type} → ${answers}${kind}`;
}

/** The comparable part of an event: its version and its required fields. */
function formOf(event: AnyEvent): string {
  return `version ${event.version} with ${event.requires().join(", ") || "no required fields"}`;
}

/** Two sagas with the same name and steps are one definition that was loaded twice; the newer one runs. */
function byName(sagas: readonly AnySagaDef[]): ReadonlyMap<string, AnySagaDef> {
  const known = new Map<string, AnySagaDef>();
  for (const saga of sagas) {
    const other = known.get(saga.name);
    if (other && shapeOf(other) !== shapeOf(saga)) {
      throw bad(
        `Two event sagas are named ${saga.name}: one is ${shapeOf(other)}, the other one ${shapeOf(saga)}. Rename one of them.`,
      );
    }
    known.set(saga.name, saga);
  }
  return known;
}

function shapeOf({ trigger, correlationField, steps }: AnySagaDef): string {
  const names = steps.map(
    ({ name, handler, compensation }) =>
      `${name}: ${handler.name}${compensation ? ` undone by ${compensation.type}` : ""}`,
  );
  return `${trigger.type} by ${correlationField} (${names.join(", ")})`;
}

/** The lanes of deliveries under this name, up to the newest version of these events. */
function laneNames(name: string, events: readonly AnyEvent[]): readonly string[] {
  const version = Math.max(...events.map((event) => event.version));
  return versionsOf({ version }).map((n) => `${name}@${n}`);
}

function keyOf({ event, handler }: Registration): string {
  return `${event} ${handler}`;
}

function versionsOf({ version }: Pick<AnyEvent, "version">): readonly number[] {
  return Array.from({ length: version }, (_, index) => index + 1);
}

function bad(message: string): AmendsError {
  return new AmendsError("BAD_DEFINITION", message);
}
