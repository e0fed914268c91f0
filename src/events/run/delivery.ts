/** What travels between the parts of the event flow: deliveries, runs, and what is written together. */
import type { FlowState } from "../../core/flow/state.ts";
import type { OutboxStatus } from "../../core/outbox/machine.ts";
import type { Claimed } from "../../runtime/lease-pool.ts";

/** One run of a saga over events, as it is stored. */
export interface RunRecord {
  readonly sagaId: string;
  readonly sagaType: string;
  readonly processId: string;
  readonly version: number;
  readonly state: FlowState;
  /** By this process's clock: when its time is up. */
  readonly dueAtMs: number | undefined;
  /** The same for the saga as a whole. */
  readonly deadlineAtMs: number | undefined;
}

/** One event on its way to one handler; without a handler, an event that is still to be routed. */
export interface Delivery extends Claimed {
  readonly eventId: string;
  readonly name: string;
  readonly version: number;
  readonly payload: string | null;
  readonly handler: string | undefined;
  readonly correlation: string | undefined;
  readonly causation: string | undefined;
  readonly sagaId: string | undefined;
  readonly attempts: number;
  readonly timeMs: number;
  /** The run that waits for it, where it was read together with it. */
  readonly run: RunRecord | undefined;
  /** The traceparent of what brought it on. */
  readonly trace: string | undefined;
}

/** A row to be written. */
export interface NewRow {
  readonly id: string;
  readonly eventId: string;
  readonly name: string;
  readonly version: number;
  readonly payload: string;
  readonly handler: string | undefined;
  readonly correlation: string | undefined;
  readonly causation: string | undefined;
  readonly sagaId: string | undefined;
  /** It begins a run; where the process has an open one already, it is not delivered. */
  readonly opens: boolean;
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

export interface Move {
  readonly run: RunRecord;
  readonly state: FlowState;
  /** How long the step that is waited for now may take; `rest`: as long as it already may. */
  readonly stepMs: number | "rest" | undefined;
  /** What a person did and why, as JSON. */
  readonly note?: string;
}

/** What goes out: rows, and the runs that some of them begin. */
export interface Fanout {
  readonly rows: readonly NewRow[];
  readonly runs: readonly NewRun[];
}

export const NOTHING_OUT: Fanout = { rows: [], runs: [] };

/** Everything that one outcome writes: all of it, or nothing. */
export interface Settlement {
  readonly delivery: (Claimed & { readonly handler?: string | undefined }) | undefined;
  readonly to: OutboxStatus;
  /** When it is due again, where it is. */
  readonly waitMs?: number | undefined;
  readonly error?: string | undefined;
  /** The claim does not count as a try. */
  readonly uncounted?: boolean | undefined;
  readonly move?: Move | undefined;
  /** Where others may wait behind it. */
  readonly queue?: { readonly handler: string; readonly correlation: string } | undefined;
  readonly out: Fanout;
  /** The traceparent that what goes out belongs to. */
  readonly trace?: string | undefined;
}
