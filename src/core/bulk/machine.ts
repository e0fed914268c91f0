/** The states of a bulk action. */
import { machine, type Machine, type StateOf } from "../machine.ts";

const table = {
  running: { stop: "stopping", withdraw: "stopped", complete: "completed" },
  stopping: { halt: "stopped" },
  completed: {},
  stopped: {},
} as const;

/**
 * `stop` is asked for while a worker may have a page under way, which ends the action with `halt`. `withdraw` stops one that no worker
 * has begun.
 */
export const bulkMachine: Machine<typeof table> = machine(table);

/**
 * Whether a bulk action is carried out or over: `running`, `stopping` (the page under way is still carried out), `completed`, or
 * `stopped` before it was through.
 */
export type BulkState = StateOf<typeof bulkMachine>;

/** The states of a bulk action that a worker carries on. */
export const OPEN: readonly BulkState[] = bulkMachine.states.filter(
  (state) => !bulkMachine.isTerminal(state),
);

/** The state of an action after a page was carried out. */
export function afterPage(state: BulkState, isLast: boolean): BulkState {
  if (state === "stopping") return bulkMachine.move(state, "halt");
  return isLast ? bulkMachine.move(state, "complete") : state;
}
