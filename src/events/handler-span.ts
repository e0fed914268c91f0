/** The span of a handler's call, for whoever traces. */
import type { SpanNote } from "../work/trace.ts";
import type { CallOptions } from "./call.ts";
import type { Delivery, RunRecord } from "./delivery.ts";
import type { AnyHandler } from "./handler.ts";

/** A call inside its span. */
export interface TracedCall extends CallOptions {
  readonly onFailure: (label: string) => void;
  /** The run that a failed try moves as well. */
  readonly moves: RunRecord | undefined;
}

export function spanOf({ name }: AnyHandler, { id, name: event, attempts, trace }: Delivery): SpanNote {
  return {
    name: `handle ${name}`,
    kind: "consumer",
    labels: { "amends.handler": name, "amends.event": event },
    attributes: { "amends.entry_id": id, "amends.attempt": attempts },
    parent: trace,
  };
}
