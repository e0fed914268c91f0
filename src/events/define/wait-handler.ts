/**
 * Sagas of steps that wait for an event are told by a handler of our own: the event goes to it as to any other, one
 * durable delivery, and it hands the event on to whichever sagas have said that they wait for it.
 */
import { ACT_RETRY } from "../../core/backoff.ts";
import type { AnyEvent } from "./event.ts";
import type { AnyHandler } from "./handler.ts";

/** No handler of a user's can have such a name. It answers nothing: the engine knows what to do with it. */
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
