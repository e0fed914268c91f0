/**
 * The states of a step saga. FAILED means that everything that may have happened has been undone. A saga for which that is not
 * certain is STALLED and waits for a person.
 */
import { machine, type EventOf, type Machine, type StateOf } from "../machine.ts";

const table = {
  PENDING: { begin: "RUNNING", fail: "FAILED", stall: "STALLED" },
  RUNNING: { complete: "COMPLETED", turn: "COMPENSATING", fail: "FAILED", stall: "STALLED" },
  COMPENSATING: { fail: "FAILED", stall: "STALLED" },
  STALLED: { begin: "RUNNING", turn: "COMPENSATING", complete: "COMPLETED", fail: "FAILED" },
  COMPLETED: {},
  FAILED: {},
} as const;

export const sagaMachine: Machine<typeof table> = machine(table);

/** The status of a saga that was only recorded, and of one whose first act may be called. */
export const RECORDED: SagaStatus = sagaMachine.initial;
export const BEGUN: SagaStatus = sagaMachine.move(RECORDED, "begin");

/** Every stall leads here, whichever state it comes from. */
export const STALLED: SagaStatus = sagaMachine.move(BEGUN, "stall");

/**
 * The status of a saga. PENDING: recorded. RUNNING: under way. COMPENSATING: being undone. COMPLETED: all steps
 * succeeded. FAILED: everything that may have happened is undone. STALLED: needs an operator.
 */
export type SagaStatus = StateOf<typeof sagaMachine>;
export type SagaEvent = EventOf<typeof sagaMachine>;

/** The states in which a worker may claim a saga. A stalled one waits for a person. */
export const CLAIMABLE: readonly SagaStatus[] = ["PENDING", "RUNNING", "COMPENSATING"];
