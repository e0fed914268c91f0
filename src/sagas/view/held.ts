/** The limits by key that a saga has to wait for now. */
import { CLAIMABLE, RECORDED } from "../../core/saga/machine.ts";
import type { Limits } from "../../core/start/limits.ts";
import type { SagaRecord } from "../journal/journal.ts";

/** Undefined: it needs no place, because a worker has it, it is not due, or it is never held back. */
export function limitsInNeed({
  limits,
  owner,
  dueAtMs,
  nowMs,
  state,
}: Pick<SagaRecord, "limits" | "owner" | "dueAtMs" | "nowMs" | "state">): Limits | undefined {
  const isDue = CLAIMABLE.includes(state.status) && owner === undefined && (dueAtMs ?? nowMs) <= nowMs;
  if (!limits || !isDue || state.status === "COMPENSATING" || state.cancel) return undefined;
  // Only a start counts for the rate.
  return state.status === RECORDED ? limits : { concurrency: limits.concurrency };
}
