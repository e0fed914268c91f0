/**
 * The rows of an event: one for each of its handlers in this process. Without a handler it becomes one row that a
 * process with handlers routes later. The statement that writes them adds a row for each handler that only other processes
 * know (outbox/deliveries/insert-queries.ts).
 */
import { deliveryId, sealOf, type Sealed } from "../../core/flow/sealed.ts";
import { sagaRecipient } from "../../core/flow/subscription.ts";
import { claimToken } from "../../core/claim-token.ts";
import { newId } from "../../runtime/identifiers.ts";
import { draw } from "../../storage/draw.ts";
import type { NewDelivery } from "../../outbox/deliveries/row.ts";
import type { Fanout, NewRun } from "./outcome.ts";
import type { EventValue } from "../define/event.ts";
import { takesOf } from "../define/several.ts";
import type { Subscriber } from "../define/subscriber.ts";
import type { SagaRegistry } from "../define/registry.ts";
import type { AnySagaDef } from "../define/saga-def.ts";

/** The origin of an event. */
export interface Origin {
  readonly correlation: string | undefined;
  readonly causation: string | undefined;
  /** The traceparent that it belongs to. */
  readonly trace: string | undefined;
  /** The run that it is sent out for. */
  readonly run?:
    | { readonly sagaId: string; readonly saga: AnySagaDef; readonly processId: string }
    | undefined;
}

export function fanOut(registry: SagaRegistry, events: readonly EventValue[], origin: Origin): Fanout {
  const rows: NewDelivery[] = [];
  const runs: NewRun[] = [];
  for (const event of events) {
    const seal = sealOf(event) as Sealed;
    const subscribers = registry.subscribers(seal.type);
    if (subscribers.length === 0)
      rows.push(rowOf(seal, undefined, origin, correlationOf(seal, origin), origin.run?.sagaId, false));
    for (const subscriber of subscribers) {
      const row = deliveryOf(registry, event, seal, subscriber, origin);
      rows.push(row);
      if (row.opens) runs.push(runOf(registry, row));
    }
  }
  return { rows, runs };
}

/** The rows of one event for these handlers alone, also where others are registered for it. */
export function fanOutTo(
  registry: SagaRegistry,
  event: EventValue,
  subscribers: readonly Subscriber[],
  origin: Origin,
): Fanout {
  const seal = sealOf(event) as Sealed;
  const found = subscribers.map((one) => deliveryOf(registry, event, seal, one, origin));
  const rows = found.map((row) => ({ ...row, fan: "alone" as const }));
  return { rows, runs: rows.filter(({ opens }) => opens).map((row) => runOf(registry, row)) };
}

function deliveryOf(
  registry: SagaRegistry,
  event: EventValue,
  seal: Sealed,
  { name }: Subscriber,
  origin: Origin,
): NewDelivery {
  const place = registry.mapping.get(name);
  if (!place) return rowOf(seal, name, origin, correlationOf(seal, origin), origin.run?.sagaId, false);
  const { saga, step } = place;
  const correlation = saga.getProcessId(event);
  if (step === saga.steps[0]) return rowOf(seal, name, origin, correlation, newId(), true, saga);
  // Only an event that the saga itself sends belongs to its run: no run waits for the same event from outside.
  const isOwn = origin.run?.saga === saga && origin.run.processId === correlation;
  const row = rowOf(
    seal,
    name,
    origin,
    correlation,
    isOwn ? origin.run.sagaId : undefined,
    false,
    saga,
    isOwn,
  );
  // Only a process that has the saga can tell whether all events of such a step have arrived.
  return takesOf(step.handler).length > 1 ? { ...row, laneOf: sagaRecipient(saga.name) } : row;
}

function correlationOf(seal: Sealed, origin: Origin): string | undefined {
  return origin.run?.processId ?? seal.correlation ?? origin.correlation;
}

function rowOf(
  seal: Sealed,
  handler: string | undefined,
  origin: Origin,
  correlation: string | undefined,
  sagaId: string | undefined,
  opens: boolean,
  saga?: AnySagaDef,
  isOwn: boolean = saga === undefined,
): NewDelivery {
  const { causation, trace } = origin;
  return {
    id: handler === undefined ? seal.id : deliveryId(seal.id, handler),
    // Not the same each time: an event whose id the caller gave may be published again after the database lost it.
    firstToken: claimToken(1, draw()),
    eventId: seal.id,
    name: seal.type,
    version: seal.version,
    payload: seal.payload,
    handler,
    correlation,
    causation,
    sagaId,
    opens,
    trace,
    saga: saga?.name,
    laneOf: undefined,
    fan: isOwn ? "event" : "apart",
    eventCorrelation: isOwn ? undefined : correlationOf(seal, origin),
  };
}

function runOf(registry: SagaRegistry, row: NewDelivery): NewRun {
  const { saga, step } = registry.mapping.get(row.handler as string) as NonNullable<
    ReturnType<SagaRegistry["mapping"]["get"]>
  >;
  return {
    sagaId: row.sagaId as string,
    sagaType: saga.name,
    processId: row.correlation as string,
    triggerId: row.eventId,
    entryId: row.id,
    stepMs: step.deadlineMs,
    deadlineMs: saga.deadlineMs,
  };
}
