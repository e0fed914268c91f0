/**
 * The handlers and the sagas that this process knows, checked against each other before anything runs: who takes which
 * event, and which handler is which saga's step. Handlers themselves know nothing of this.
 */
import { AmendsError } from "../../core/errors.ts";
import { deliveryId } from "../../core/flow/sealed.ts";
import type { FlowPlan } from "../../core/flow/state.ts";
import type { Dialect } from "../../storage/database.ts";
import type { AnySaga } from "../../sagas/define/definition.ts";
import type { AnyEvent } from "./event.ts";
import { isEventType, type AnyHandler } from "./handler.ts";
import { waitHandler } from "./wait-handler.ts";
import { SagaDef, type AnySagaDef } from "./saga-def.ts";
import type { SagaStep } from "./saga-step.ts";
import { SagaContractViolation } from "./violation.ts";

/** A handler's place. */
export interface Place {
  readonly saga: AnySagaDef;
  readonly step: SagaStep;
}

/** By the handler's name. */
export type HandlerSagaMapping = ReadonlyMap<string, Place>;

export function buildHandlerSagaMapping(sagas: readonly AnySagaDef[]): HandlerSagaMapping {
  const mapping = new Map<string, Place>();
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

const NOBODY: readonly AnyHandler[] = [];

export class SagaRegistry {
  readonly mapping: HandlerSagaMapping;
  readonly #sagas: ReadonlyMap<string, AnySagaDef>;
  readonly #handlers = new Map<string, AnyHandler>();
  readonly #subscribers = new Map<string, AnyHandler[]>();
  readonly #events = new Map<string, AnyEvent>();
  readonly #plans = new Map<string, FlowPlan>();
  /** By the handler that stands for the sagas of steps that wait for its event: the fields by which they know it. */
  readonly #waits = new Map<string, Set<string>>();

  constructor(
    handlers: readonly AnyHandler[],
    sagas: readonly AnySagaDef[],
    dialect: Dialect["name"] | undefined,
    waiting: readonly AnySaga[] = [],
  ) {
    for (const saga of sagas) {
      if (!(saga instanceof SagaDef))
        throw bad("Whatever is in `eventSagas` must be made by `eventSaga(…)`.");
    }
    this.#sagas = new Map(sagas.map((saga) => [saga.name, saga]));
    if (this.#sagas.size < sagas.length) throw bad("Two sagas over events have the same name.");
    this.mapping = buildHandlerSagaMapping(sagas);
    for (const handler of handlers) this.#addHandler(handler, dialect);
    for (const saga of sagas) this.#addSaga(saga, dialect);
    for (const saga of sagas) this.#plans.set(saga.name, this.#planOf(saga));
    for (const { steps } of waiting)
      for (const { interest } of steps) if (interest) this.#addWait(interest.event, interest.field, dialect);
    this.#refuseSameIds();
  }

  get isEmpty(): boolean {
    return this.#handlers.size === 0;
  }

  handler(name: string): AnyHandler | undefined {
    return this.#handlers.get(name);
  }

  saga(name: string): AnySagaDef | undefined {
    return this.#sagas.get(name);
  }

  plan(saga: AnySagaDef): FlowPlan {
    return this.#plans.get(saga.name) as FlowPlan;
  }

  /** The fields by which sagas of steps know the event of this handler, where it is the one that tells them. */
  waitedFields(handler: string): ReadonlySet<string> | undefined {
    return this.#waits.get(handler);
  }

  /** Whoever takes this event. */
  subscribers(type: string): readonly AnyHandler[] {
    return this.#subscribers.get(type) ?? NOBODY;
  }

  /** Deliveries that this process can read, as `handler@version`: what a newer process stored is left to it. */
  get deliverable(): readonly string[] {
    return [...this.#handlers.values()].flatMap(({ name, on }) => versionsOf(on).map((n) => `${name}@${n}`));
  }

  /** Events that this process has handlers for, as `name@version`. */
  get routable(): readonly string[] {
    return [...this.#subscribers.values()].flatMap(([first]) =>
      first ? versionsOf(first.on).map((n) => `${first.on.type}@${n}`) : [],
    );
  }

  #addHandler(handler: AnyHandler, dialect: Dialect["name"] | undefined): void {
    if (typeof handler !== "object" || typeof handler?.handle !== "function") {
      throw bad("Whatever is in `handlers` must be made by `handler(…)`.");
    }
    const known = this.#handlers.get(handler.name);
    if (known === handler) return;
    if (known) throw bad(`Two handlers are named ${handler.name}. Give one of them another name.`);
    const { transaction } = handler;
    if (transaction && transaction.dialect !== dialect) {
      throw bad(
        `Handler ${handler.name} wants a transaction of ${transaction.dialect}, but the events are kept in ${dialect ?? "a storage without transactions"}.`,
      );
    }
    for (const event of [handler.on, handler.ok, handler.err]) this.#addEvent(event);
    this.#handlers.set(handler.name, handler);
    this.#subscribers.set(handler.on.type, [...this.subscribers(handler.on.type), handler]);
  }

  #addWait(event: unknown, field: string, dialect: Dialect["name"] | undefined): void {
    if (!isEventType(event)) throw bad("Whatever a saga waits for as an event must be made by `event(…)`.");
    const handler = waitHandler(event);
    const fields = this.#waits.get(handler.name);
    if (fields) this.#addEvent(event);
    else this.#addHandler(handler, dialect);
    this.#waits.set(handler.name, new Set([...(fields ?? []), field]));
  }

  #addEvent(event: AnyEvent): void {
    const known = this.#events.get(event.type);
    if (known && known !== event) {
      throw bad(`Two events are named ${event.type}. Define it once, and give it a version when it changes.`);
    }
    this.#events.set(event.type, event);
  }

  #addSaga(saga: AnySagaDef, dialect: Dialect["name"] | undefined): void {
    this.#addEvent(saga.trigger);
    for (const { handler, compensation } of saga.steps) {
      this.#addHandler(handler, dialect);
      if (compensation) this.#addEvent(compensation);
    }
  }

  /** A command goes to one handler, which is not a step itself; without any it is sent and not waited for. */
  #planOf(saga: AnySagaDef): FlowPlan {
    const steps = saga.steps.map(({ name, compensation }) => {
      if (!compensation) return { name, undo: "none" } as const;
      const takers = this.subscribers(compensation.type);
      const acting = takers.find((taker) => this.mapping.has(taker.name));
      if (acting) {
        throw new SagaContractViolation(
          `Saga ${saga.name}: ${compensation.type} undoes step ${name}, so handler ${acting.name}, which takes it, cannot be a step of a saga.`,
        );
      }
      if (takers.length > 1) {
        throw new SagaContractViolation(
          `Saga ${saga.name}: ${compensation.type} is a command, so one handler takes it, not ${takers.length} (${takers.map((taker) => taker.name).join(", ")}).`,
        );
      }
      return { name, undo: takers.length === 1 ? "answered" : "sent" } as const;
    });
    return { steps };
  }

  /** The ids of deliveries are made from 32 bits of the handlers' names. That two agree is all but impossible. */
  #refuseSameIds(): void {
    const event = "00000000-0000-0000-0000-000000000000";
    const seen = new Map([[event, "no handler at all"]]);
    for (const name of this.#handlers.keys()) {
      const id = deliveryId(event, name);
      const other = seen.get(id);
      if (other !== undefined)
        throw bad(`Handler ${name} cannot be told from ${other}: give it another name.`);
      seen.set(id, name);
    }
  }
}

function versionsOf({ version }: AnyEvent): readonly number[] {
  return Array.from({ length: version }, (_, index) => index + 1);
}

function bad(message: string): AmendsError {
  return new AmendsError("BAD_DEFINITION", message);
}
