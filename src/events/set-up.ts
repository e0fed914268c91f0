/** Creates the event flow of one Amends: its registry, its engine and the reaper of its deadlines. */
import { AmendsError } from "../core/errors.ts";
import { refuseUnknown } from "../core/options.ts";
import type { AnySaga } from "../sagas/define/definition.ts";
import type { Duty } from "../runtime/duty.ts";
import type { PartContext } from "../runtime/part.ts";
import { EventEngine, type EventEngineOptions } from "./run/engine.ts";
import { reaper } from "./run/reaper.ts";
import type { Consumer } from "./define/consumer.ts";
import { SagaRegistry, type EventDefinition } from "./define/registry.ts";
import type { SagaStore } from "./store/saga-store.ts";

/** The option `events` of `new Amends`, with settings. */
export interface EventsOptions<Tx = unknown> {
  /** Handlers and event sagas that this process knows. An empty list is for a process that only publishes. */
  readonly define: readonly EventDefinition[];
  /**
   * Your own store of the states of sagas. Each new state is also saved there, in the same transaction. Default: none;
   * the states are in `saga_state` only.
   */
  readonly store?: SagaStore<Tx>;
}

/** Access to sagas of steps: handlers run them, and they wait for events. */
export interface SagaPort extends Pick<EventEngineOptions, "runSaga" | "tellSagas"> {
  /** Every saga of steps that this process knows. */
  readonly known: readonly AnySaga[];
}

export interface EventParts {
  readonly engine: EventEngine;
  readonly reaper: Duty;
}

export function makeEngine(
  context: PartContext,
  given: readonly EventDefinition[] | EventsOptions,
  sagas: SagaPort,
  consumers: readonly Consumer[],
): EventParts {
  const { define, store } = readOptions(given);
  const { database, clock, closing, graceMs, leaseMs, errorCodes, keepMessages, tracer } = context;
  const { dialect } = database;
  const warn: PartContext["warn"] = (fields, message) => context.warn(fields, message);
  const engine = new EventEngine({
    db: database,
    registry: new SagaRegistry(define, database, sagas.known, consumers),
    sagaStore: store,
    leaseMs,
    errorCodes,
    keepMessages,
    closing,
    graceMs,
    tracer,
    warn,
    runSaga: (saga, input, id, waitMs) => sagas.runSaga(saga, input, id, waitMs),
    tellSagas: (event, values) => sagas.tellSagas(event, values),
    watch: context.watch("write events"),
    onRefused: (refused) => context.onRefused("events", refused),
    onBug: (error) => context.onBug(error),
    onAttention: (fields, message) => context.error(fields, message),
  });
  return { engine, reaper: reaper({ engine, dialect, clock, warn }) };
}

function readOptions(given: readonly EventDefinition[] | EventsOptions): EventsOptions {
  const { define, store, ...rest } = isOptions(given) ? given : { define: given };
  refuseUnknown(rest, [], "new Amends({ events })");
  if (store !== undefined && (typeof store.save !== "function" || typeof store.get !== "function"))
    throw new AmendsError("BAD_OPTION", "events.store must be a SagaStore with `save` and `get`.");
  return { define, ...(store && { store }) };
}

function isOptions(given: readonly EventDefinition[] | EventsOptions): given is EventsOptions {
  return !Array.isArray(given) && typeof given === "object" && given !== null && "define" in given;
}
