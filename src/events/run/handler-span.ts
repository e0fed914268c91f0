/** The tracing span of a handler's call. */
import type { SpanNote } from "../../runtime/trace.ts";
import type { Delivery } from "./outcome.ts";
import type { Subscriber } from "../define/subscriber.ts";

export function spanOf({ name }: Subscriber, { id, name: event, attempts, trace }: Delivery): SpanNote {
  return {
    name: `handle ${name}`,
    kind: "consumer",
    labels: { "amends.handler": name, "amends.event": event },
    attributes: { "amends.entry_id": id, "amends.attempt": attempts },
    parent: trace,
  };
}
