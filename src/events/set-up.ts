/** Creates the event flow of one Amends: its registry, its engine and the reaper of its deadlines. */
import type { AnySaga } from "../sagas/define/definition.ts";
import type { PartContext } from "../runtime/part.ts";
import { EventEngine, type EventEngineOptions } from "./run/engine.ts";
import { Reaper } from "./run/reaper.ts";
import { SagaRegistry, type EventDefinition } from "./define/registry.ts";

/** Access to sagas of steps: handlers run them, and they wait for events. */
export interface SagaPort extends Pick<EventEngineOptions, "runSaga" | "tellSagas"> {
  /** Every saga of steps that this process knows. */
  readonly known: readonly AnySaga[];
}

export interface EventParts {
  readonly engine: EventEngine;
  readonly reaper: Reaper;
}

export function makeEngine(
  context: PartContext,
  definitions: readonly EventDefinition[],
  sagas: SagaPort,
): EventParts {
  const { database, clock, closing, graceMs, leaseMs, errorCodes, keepMessages, tracer } = context;
  const { dialect } = database;
  const warn: PartContext["warn"] = (fields, message) => context.warn(fields, message);
  const engine = new EventEngine({
    db: database,
    registry: new SagaRegistry(definitions, dialect.name, sagas.known),
    leaseMs,
    errorCodes,
    keepMessages,
    closing,
    graceMs,
    tracer,
    warn,
    runSaga: (saga, input, id, waitMs) => sagas.runSaga(saga, input, id, waitMs),
    tellSagas: (event, values) => sagas.tellSagas(event, values),
    onTrouble: (error, attempt) => context.onTrouble(error, attempt),
    onRefused: (refused) => context.onRefused("events", refused),
    onBug: (error) => context.onBug(error),
    onAttention: (fields, message) => context.error(fields, message),
  });
  return { engine, reaper: new Reaper({ engine, dialect, clock, warn }) };
}
