/** What travels between the parts of the event flow: deliveries, runs, and what is written together. */
import type { FlowState } from "../../core/flow/state.ts";
import type { DeliveryOutcome, DeliveryRow, NewDelivery } from "../../outbox/deliveries/row.ts";

/** One run of a saga over events, as it is stored. */
export interface RunRecord {
  readonly sagaId: string;
  readonly sagaType: string;
  readonly processId: string;
  readonly version: number;
  readonly state: FlowState;
  /** When the time of the current step, or of the whole saga, is up, by this process's clock. */
  readonly dueAtMs: number | undefined;
  /** The same for the saga as a whole. */
  readonly deadlineAtMs: number | undefined;
}

/** One event on its way to one handler; without a handler, an event that is still to be routed. */
export interface Delivery extends DeliveryRow {
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

/** A run goes from the state in which the decision found it to the next one. */
export interface Move {
  readonly run: RunRecord;
  readonly state: FlowState;
  /** How long the step that is waited for now may take. `rest`: the time that is left of the current one. */
  readonly stepMs: number | "rest" | undefined;
  /** What a person did and why, as JSON. */
  readonly note?: string | undefined;
}

/** What goes out: rows, and the runs that some of them begin. */
export interface Fanout {
  readonly rows: readonly NewDelivery[];
  readonly runs: readonly NewRun[];
}

export const NOTHING_OUT: Fanout = { rows: [], runs: [] };

/** Everything that is written because a delivery was handled: all of it, or nothing. */
export interface Outcome extends DeliveryOutcome {
  readonly move?: Move | undefined;
  readonly out: Fanout;
}
