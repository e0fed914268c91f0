/** Deliveries without an application handler: unrouted events, and events that sagas of steps wait for. */
import { delayMs } from "../../core/backoff.ts";
import { errorLabel } from "../../core/errors.ts";
import { settled } from "../../core/outbox/machine.ts";
import type { Lease } from "../../runtime/lease.ts";
import { matchValue } from "../../sagas/define/interests.ts";
import type { Subscriber } from "../define/subscriber.ts";
import { isNewer, readEvent } from "./call.ts";
import type { EventEngine } from "./engine.ts";
import { HandlerTurn } from "./handler-turn.ts";
import { fanOut, fanOutTo } from "./fanout.ts";
import { leftToNewer, NOTHING_OUT, type Delivery, type Outcome } from "./outcome.ts";

/** Routes an event that was published in a process without handlers for it. */
export async function routeEvent(engine: EventEngine, delivery: Delivery, lease: Lease): Promise<void> {
  const [subscriber] = engine.registry.subscribers(delivery.name);
  const event = subscriber && readEvent(subscriber, delivery);
  if (!event) return settle(engine, unreadable(delivery), delivery, lease);
  let outcome: Outcome;
  try {
    const { correlation, causation, trace } = delivery;
    const out = fanOut(engine.registry, [event], { correlation, causation, trace });
    outcome = { delivery, to: settled("succeed"), out };
  } catch (error) {
    const label = errorLabel(error, engine.callTools.errorCodes);
    outcome = { delivery, to: settled("abandon"), error: label, out: NOTHING_OUT };
  }
  return settle(engine, outcome, delivery, lease);
}

/**
 * Hands an event to the steps of a saga that take it. A process without the saga has published it, or one with other steps:
 * it cannot tell which process of the saga is meant.
 */
export async function routeToSaga(
  engine: EventEngine,
  name: string,
  delivery: Delivery,
  lease: Lease,
): Promise<void> {
  const { registry } = engine;
  const steps = registry
    .subscribers(delivery.name)
    .filter((one) => registry.mapping.get(one.name)?.saga.name === name);
  const [first] = steps;
  const { correlation, causation, trace, handler = "" } = delivery;
  const queue = correlation === undefined ? undefined : { handler, correlation };
  if (!first || isNewer(first, delivery)) return settle(engine, leftToNewer(delivery), delivery, lease);
  const event = readEvent(first, delivery);
  if (!event) return settle(engine, unreadable(delivery), delivery, lease);
  let outcome: Outcome;
  try {
    const out = fanOutTo(registry, event, steps, { correlation, causation, trace });
    outcome = { delivery, to: settled("succeed"), queue, out };
  } catch (error) {
    const label = errorLabel(error, engine.callTools.errorCodes);
    outcome = { delivery, to: settled("abandon"), error: label, out: NOTHING_OUT };
  }
  return settle(engine, outcome, delivery, lease);
}

/** Applies the result that a process without the saga has recorded. */
export async function applyAnswer(
  engine: EventEngine,
  handler: Subscriber | undefined,
  delivery: Delivery,
  lease: Lease,
): Promise<void> {
  if (handler) return new HandlerTurn(engine, handler, delivery, lease).apply();
  return settle(engine, leftToNewer(delivery), delivery, lease);
}

/** Notifies the sagas of steps that wait for this event. Idempotent: each saga gets it once. */
export async function notifySagas(
  engine: EventEngine,
  handler: Subscriber,
  fields: ReadonlySet<string>,
  delivery: Delivery,
  lease: Lease,
): Promise<void> {
  const event = readEvent(handler, delivery);
  if (!event) return settle(engine, unreadable(delivery), delivery, lease);
  const { eventId: id, name: type, version, payload = null, attempts, correlation } = delivery;
  const values = [...fields].flatMap((field) => {
    const value = matchValue((event as unknown as Record<string, unknown>)[field]);
    return value === undefined ? [] : [[field, value] as const];
  });
  try {
    await engine.notifySagas({ id, type, version, payload }, values);
  } catch (thrown) {
    const error = errorLabel(thrown, engine.callTools.errorCodes);
    const isLast = attempts >= handler.retry.attemptMax;
    const waitMs = isLast ? undefined : delayMs(handler.retry, attempts);
    const to = settled(isLast ? "abandon" : "fail");
    await settle(engine, { delivery, to, waitMs, error, out: NOTHING_OUT }, delivery, lease);
    if (waitMs !== undefined) engine.pool.dueIn(waitMs);
    return;
  }
  const queue = correlation === undefined ? undefined : { handler: handler.name, correlation };
  await settle(engine, { delivery, to: settled("succeed"), queue, out: NOTHING_OUT }, delivery, lease);
}

function unreadable(delivery: Delivery): Outcome {
  return { delivery, to: settled("abandon"), error: "UnreadableEvent", out: NOTHING_OUT };
}

async function settle(
  engine: EventEngine,
  outcome: Outcome,
  delivery: Delivery,
  lease: Lease,
): Promise<void> {
  const { isWritten } = await engine.settle(outcome, delivery, lease);
  if (!isWritten) lease.stop("lost");
}
