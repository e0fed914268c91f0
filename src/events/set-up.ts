/** Makes the event flow of one Amends: its registry, its engine, and what the worker drives for it. */
import type { AnySaga } from "../sagas/define/definition.ts";
import type { PartContext } from "../runtime/part.ts";
import { EventEngine, type EventEngineOptions } from "./run/engine.ts";
import { EventFlow } from "./flow.ts";
import type { AnyHandler } from "./define/handler.ts";
import { Reaper } from "./run/reaper.ts";
import { SagaRegistry } from "./define/registry.ts";
import type { AnySagaDef } from "./define/saga-def.ts";

export interface EventFlowOptions<Tx> extends Pick<
  EventEngineOptions,
  "leaseMs" | "errorCodes" | "runSaga" | "tellSagas" | "onAttention"
> {
  readonly host: PartContext<Tx>;
  readonly handlers: readonly AnyHandler[];
  readonly eventSagas: readonly AnySagaDef[];
  /** Sagas of steps, which may wait for events. */
  readonly sagas: readonly AnySaga[];
}

export function setUpEvents<Tx>(options: EventFlowOptions<Tx>): EventFlow<Tx> {
  const { host, handlers, eventSagas, sagas, ...given } = options;
  const { database, clock, closing, graceMs } = host;
  const warn: PartContext["warn"] = (fields, message) => host.warn(fields, message);
  const { dialect } = database;
  const registry = new SagaRegistry(handlers, eventSagas, dialect.name, sagas);
  const engine = new EventEngine({
    ...given,
    db: database,
    registry,
    closing,
    graceMs,
    warn,
    tracer: host.tracer,
    onTrouble: (error, attempt) => host.onTrouble(error, attempt),
    onBug: (error) => host.onBug(error),
  });
  if (!registry.isEmpty) {
    host.addDuty(engine.pool);
    host.addDuty(new Reaper({ engine, dialect, clock, warn }));
  }
  return new EventFlow(engine, database);
}
