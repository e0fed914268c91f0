/**
 * The events of a handler that takes several. Each of them is a delivery of its own: those that came first are settled
 * without a call, and stay in the outbox as long as their run does. With the last one the handler is called, and the
 * others are read again, so that nothing is kept in memory between two arrivals.
 */
import { selectSent } from "../../outbox/deliveries/claim-queries.ts";
import { DELIVERY } from "../../outbox/deliveries/row.ts";
import type { EventValue } from "../define/event.ts";
import { takesOf } from "../define/several.ts";
import type { Subscriber } from "../define/subscriber.ts";
import { selectRuns } from "../store/run-queries.ts";
import { STORED_RUN, trailOf } from "../store/run-row.ts";
import type { FlowStore } from "../store/store.ts";
import { isNewer, readEvent } from "./call.ts";
import type { RunRecord } from "./outcome.ts";

/**
 * In the order in which the handler takes them; undefined if one of them cannot be read, and `newer` if one is of a version
 * that only a newer process reads.
 */
export async function gatherEvents(
  store: FlowStore,
  handler: Subscriber,
  { sagaId }: RunRecord,
): Promise<readonly EventValue[] | "newer" | undefined> {
  const [run] = await store.query(selectRuns(store.dialect, [sagaId]));
  const trail = run ? trailOf(STORED_RUN.read(run)) : [];
  const rows = await store.query(selectSent(store.dialect, trail, handler.name));
  const sent = new Map(rows.map((row) => DELIVERY.read(row)).map((row) => [row.name, row]));
  if ([...sent.values()].some((row) => isNewer(handler, row))) return "newer";
  const events = takesOf(handler).flatMap(({ type }) => {
    const row = sent.get(type);
    return (row && readEvent(handler, row)) ?? [];
  });
  return events.length === takesOf(handler).length ? events : undefined;
}
