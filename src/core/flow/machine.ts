/** One run of a saga over events. A run has failed only after everything that may have happened was undone. */
import { machine, type Machine, type StateOf } from "../machine.ts";

const table = {
  running: { advance: "running", complete: "completed", turnBack: "compensating", fail: "failed" },
  compensating: { undo: "compensating", stall: "stalled", fail: "failed" },
  stalled: { resume: "compensating", fail: "failed" },
  completed: {},
  failed: {},
} as const;

export const flowMachine: Machine<typeof table> = machine(table);

/**
 * The status of a run. Statuses are stored as text and only ever added, so that rows of every release stay readable.
 */
export type FlowStatus = StateOf<typeof flowMachine>;

/** A process has at most one run in one of these. */
export const OPEN_FLOWS: readonly FlowStatus[] = flowMachine.states.filter(
  (state) => !flowMachine.isTerminal(state),
);
