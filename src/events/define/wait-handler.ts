/**
 * An internal consumer notifies sagas of steps that wait for an event. It gets the event as one durable delivery,
 * like any consumer, and passes the event on to the waiting sagas.
 */
import { ACT_RETRY } from "../../core/backoff.ts";
import type { Consumer } from "./consumer.ts";
import type { AnyEvent } from "./event.ts";

/** A reserved name. The engine treats it separately. */
export function waitHandler(event: AnyEvent): Consumer {
  return {
    name: `$waits.${event.type}`,
    on: event,
    retry: ACT_RETRY,
    timeoutMs: undefined,
    transaction: undefined,
    handle: () => undefined,
  };
}
