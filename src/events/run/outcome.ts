/**
 * The types that the parts of the event flow share: deliveries, runs, and the changes that are written together.
 */
import type { FlowState } from "../../core/flow/state.ts";
import { settled } from "../../core/outbox/machine.ts";
import type { ClaimedDelivery, DeliveryOutcome, NewDelivery } from "../../outbox/deliveries/row.ts";

/** One run of a saga over events, as it is stored. */
export interface RunRecord {
  readonly sagaId: string;
  readonly sagaType: string;
  readonly processId: string;
  readonly version: number;
  readonly state: FlowState;
  /** The deadline of the current step or of the saga, whichever is first, by this process's clock. */
  readonly dueAtMs: number | undefined;
  /** The deadline of the saga. */
  readonly deadlineAtMs: number | undefined;
}

/** One event on its way to one handler; without a handler, an event that is still to be routed. */
export interface Delivery extends Omit<ClaimedDelivery, "lane"> {
  /** The run that waits for it, if it was read together with it. */
  readonly run: RunRecord | undefined;
}

/** A run that begins with its trigger. */
export interface NewRun {
  readonly sagaId: string;
  readonly sagaType: string;
  readonly processId: string;
  readonly triggerId: string;
  /** The trigger's delivery to the first handler. */
  readonly entryId: string;
  readonly stepMs: number | undefined;
  readonly deadlineMs: number | undefined;
}

/** A transition of a run from the state that the decision was made on to the next one. */
export interface Move {
  readonly run: RunRecord;
  readonly state: FlowState;
  /** The timeout of the current step. `rest`: the remaining time of the previous deadline. */
  readonly stepMs: number | "rest" | undefined;
  /** The note of an operator action, as JSON. */
  readonly note?: string | undefined;
}

/** The rows to send, and the runs that some of them begin. */
export interface Fanout {
  readonly rows: readonly NewDelivery[];
  readonly runs: readonly NewRun[];
}

export const NOTHING_OUT: Fanout = { rows: [], runs: [] };

/** All changes of one handled delivery, written atomically. */
export interface Outcome extends DeliveryOutcome {
  readonly move?: Move | undefined;
  readonly out: Fanout;
}

/** How long a delivery waits for a process with a newer definition. */
const NEWER_MS = 60_000;

/** The delivery waits for a process whose definition takes it. */
export function leftToNewer(delivery: Delivery): Outcome {
  return { delivery, to: settled("park"), waitMs: NEWER_MS, uncounted: true, out: NOTHING_OUT };
}
