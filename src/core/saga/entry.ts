/**
 * One line of a saga's log. The log is the saga: its state is what these lines add up to (state.ts). Lines of
 * steps carry the step's name; lines of Amends itself carry a name that begins with `$`.
 */
import type { Direction } from "../identity.ts";

/** What a line of the log says about a call. */
export type EntryStatus = "STARTED" | "COMPLETED" | "FAILED";

export type ControlName =
  | "$claim" // a worker took the saga over
  | "$release" // a worker that shuts down gave it back
  | "$cancel" // a person or the application asked for it to be undone
  | "$expire" // a deadline passed while an act ran; what the act returned is kept, and the saga turns back
  | "$return" // a call that had outlived its time has returned
  | "$turn" // it turned back for another reason than a failed step
  | "$stall" // it waits for a person
  | "$retry" // a person let it go on
  | "$skip" // a person took one step's work over
  | "$resolve" // a person ended it
  | "$pause" // a person holds it: nothing of it begins until it is resumed
  | "$resume" // a person lets a paused saga go on
  | "$reverse"; // it takes back the saga whose lines stand before this one

/** A call or a wait that begins. `step` is the name in the log: of an item or a round it has a number (part-name.ts). */
export interface Mark {
  readonly step: string;
  readonly action: Direction;
}

export interface Entry {
  readonly step: string;
  readonly action: Direction;
  readonly status: EntryStatus;
  /** JSON: a result, a failure, or what a control line says. */
  readonly details: string | null;
  /** The call that begins with this line: its STARTED is durable because this line is. */
  readonly next?: Mark | undefined;
  /** Milliseconds since the epoch, database time, where the line was read from the database. */
  readonly atMs?: number | undefined;
}

/** How a call failed, and what follows from it. */
export type FailureKind =
  | "retry" // transient: tried again
  | "err" // the business said no
  | "terminal" // permanent trouble
  | "exhausted" // transient trouble that used up its tries
  | "unfit" // what was returned cannot be stored
  | "open" // not called: its circuit is open
  | "deadline" // the step's or the saga's time was up
  | "child" // its child saga failed, and has been undone
  | "cancelled"; // the saga was cancelled

export interface Failure {
  readonly kind: FailureKind;
  /** The label of what was thrown, never its message. */
  readonly label: string;
  /** The value of an Err, as it was returned. */
  readonly error?: unknown;
  /** Kept only where the definition asks for messages. */
  readonly message?: string | undefined;
  readonly waitMs?: number | undefined;
  /**
   * The call has outlived its time and has not returned: since when it runs, by the clock of the worker that waits for it.
   * Until it returns, or that worker is gone, nothing is undone.
   */
  readonly runningSinceMs?: number | undefined;
  /** The step has used up its tries and needs a person, and is tried again all the same: there is no way back. */
  readonly needsPerson?: boolean | undefined;
  /** The step that takes its place: the saga goes on with that one instead of turning back. */
  readonly instead?: string | undefined;
  /** Of a child saga: the number under which its end arrived. */
  readonly number?: number | undefined;
}

export interface ControlDetails {
  readonly reason?: string | undefined;
  readonly by?: string | undefined;
  /** The bulk action of which this is an item. */
  readonly bulk?: string | undefined;
  readonly kind?: string | undefined;
  readonly label?: string | undefined;
  readonly step?: string | undefined;
  /** What a skipped act would have returned. */
  readonly result?: unknown;
  readonly as?: "COMPLETED" | "FAILED" | undefined;
  /** Since when the call runs that the saga waits for. */
  readonly sinceMs?: number | undefined;
  /** A person knows that the pivot did not happen, although it was in doubt. */
  readonly pivotDidNotHappen?: boolean | undefined;
}

/** An act begins. */
export function started(step: string): Entry {
  return { step, action: "act", status: "STARTED", details: null };
}

export function control(name: ControlName, details: ControlDetails): Entry {
  return { step: name, action: "act", status: "COMPLETED", details: JSON.stringify(details) };
}
