/**
 * An internal handler notifies sagas of steps that wait for an event. It gets the event as one durable delivery,
 * like any handler, and passes the event on to the waiting sagas.
 */
import { ACT_RETRY } from "../../core/backoff.ts";
import type { AnyEvent } from "./event.ts";
import type { AnyHandler } from "./handler.ts";

/** A reserved name. The handler returns no event: the engine treats it separately. */
export function waitHandler(event: AnyEvent): AnyHandler {
  return {
    name: `$waits.${event.type}`,
    on: event,
    ok: event,
    err: event,
    retry: ACT_RETRY,
    timeoutMs: undefined,
    transaction: undefined,
    handle: () => undefined,
  };
}
