/**
 * The states of one step: two machines, one for its act and one for its undo. `evolve` moves a step by these
 * arrows only; an arrow that is not in a table throws. Counts, results and failures stand beside them (state.ts).
 */
import { machine, type EventOf, type Machine, type StateOf } from "../../machine.ts";

/**
 * `begun` and `retry` are in doubt: the act may have happened. `broken` too, and it is not tried again by itself. A step
 * that only waits is `waiting` instead of `begun`; so is one that waits between two rounds, or for its child saga. A step with a
 * list is `listed` once its items are recorded, and done when they are. A fallback is `chosen` once it is to act and has not begun.
 *
 * `withhold`: it had begun in the log, but its call was never made, or a person knows that it did not happen. `interrupt`: the worker that had begun it is gone.
 * `reopen`: a person lets it be tried again. `rest`: a round is over, or the child was started. From `retry` and `broken`,
 * `succeed`, `list` and `rest` mean that a call that had outlived its time returned.
 */
const act = {
  none: { begin: "begun", wait: "waiting", choose: "chosen" },
  chosen: { begin: "begun" },
  begun: {
    succeed: "done",
    fail: "retry",
    refuse: "refused",
    break: "broken",
    interrupt: "retry",
    withhold: "none",
    list: "listed",
    rest: "waiting",
  },
  listed: { succeed: "done" },
  waiting: { succeed: "done", begin: "begun", refuse: "refused", break: "broken", skip: "skipped" },
  retry: {
    begin: "begun",
    wait: "waiting",
    succeed: "done",
    list: "listed",
    rest: "waiting",
    skip: "skipped",
  },
  refused: { reopen: "retry", skip: "skipped" },
  broken: {
    reopen: "retry",
    succeed: "done",
    list: "listed",
    rest: "waiting",
    withhold: "none",
    skip: "skipped",
  },
  done: {},
  skipped: {},
} as const;

export const actMachine: Machine<typeof act> = machine(act);
export type ActState = StateOf<typeof actMachine>;
export type ActEvent = EventOf<typeof actMachine>;

/**
 * `failed` has used up its tries and waits for a person, or for a call that had outlived its time. The undo of a child saga is
 * `waiting` until the child, or the saga that reverses it, has ended.
 */
const undo = {
  none: { begin: "begun" },
  begun: { succeed: "done", fail: "retry", giveUp: "failed", interrupt: "retry", rest: "waiting" },
  waiting: { succeed: "done", begin: "begun" },
  retry: { begin: "begun", succeed: "done", rest: "waiting" },
  failed: { reopen: "retry", succeed: "done", rest: "waiting", skip: "skipped" },
  done: {},
  skipped: {},
} as const;

export const undoMachine: Machine<typeof undo> = machine(undo);
export type UndoState = StateOf<typeof undoMachine>;
export type UndoEvent = EventOf<typeof undoMachine>;
