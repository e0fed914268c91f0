/**
 * The states of one step: two machines, one for its act and one for its undo. `evolve` moves a step by these
 * arrows only; an arrow that is not in a table throws. Counts, results and failures stand beside them (step-state.ts).
 */
import { machine, type EventOf, type Machine, type StateOf } from "../machine.ts";

/**
 * `begun` and `retry` are in doubt: the act may have happened. `broken` too, and it is not tried again by itself. A step
 * that only waits is `waiting` instead of `begun`. A fallback is `chosen` once it is to act and has not begun.
 *
 * `withhold`: it had begun in the log, but its call was never made. `interrupt`: the worker that had begun it is gone.
 * `reopen`: a person lets it be tried again. `succeed` from `retry` and `broken`: a call that had outlived its time returned.
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
  },
  waiting: { succeed: "done", break: "broken" },
  retry: { begin: "begun", wait: "waiting", succeed: "done", skip: "skipped" },
  refused: { reopen: "retry", skip: "skipped" },
  broken: { reopen: "retry", succeed: "done", skip: "skipped" },
  done: {},
  skipped: {},
} as const;

export const actMachine: Machine<typeof act> = machine(act);
export type ActState = StateOf<typeof actMachine>;
export type ActEvent = EventOf<typeof actMachine>;

/** `failed` has used up its tries and waits for a person, or for a call that had outlived its time. */
const undo = {
  none: { begin: "begun" },
  begun: { succeed: "done", fail: "retry", giveUp: "failed", interrupt: "retry" },
  retry: { begin: "begun", succeed: "done" },
  failed: { reopen: "retry", succeed: "done", skip: "skipped" },
  done: {},
  skipped: {},
} as const;

export const undoMachine: Machine<typeof undo> = machine(undo);
export type UndoState = StateOf<typeof undoMachine>;
export type UndoEvent = EventOf<typeof undoMachine>;
