/**
 * Handlers that do not return in time. Such a handler keeps its slot. After the last attempt or the run's deadline,
 * the worker keeps renewing the lease and waits for the handler: nothing is abandoned or undone while the handler
 * is known to run.
 */
import { noteRunning } from "../../outbox/queries.ts";
import type { FlowStore } from "../store/store.ts";
import type { Called, Request } from "./call.ts";
import type { FlowDecider } from "./decider.ts";
import type { Move, RunRecord } from "./outcome.ts";
import { DEADLINE_PASSED, type HandlerResult } from "./result.ts";

interface Tools {
  readonly store: FlowStore;
  readonly decider: FlowDecider;
  hastenLate(move: Move): Promise<void>;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
}

export function isInTime({ result, late, expired }: Called): boolean {
  return result === undefined || (!late && !expired);
}

/** The result of a call that is not in time. Undefined if the claim was lost meanwhile. */
export async function resultOfLate(
  tools: Tools,
  request: Request,
  called: Called,
): Promise<HandlerResult | undefined> {
  const { delivery, run, role, lease } = request;
  const { result, late } = called;
  if (result === undefined) return undefined;
  if (late) lease.keepOrphan(late);
  if (late && result.kind === "retry") return result;
  const isDeadline =
    called.expired === true || (result.kind === "exhausted" && result.error === DEADLINE_PASSED);
  if (isDeadline && role.kind === "act" && run) await turnBack(tools, run, role.step.name);
  if (!late) return result;
  await tools.store.query(noteRunning(tools.store.dialect, delivery.id, delivery.token));
  const { id, handler } = delivery;
  tools.warn({ id, handler }, "amends: a handler has not returned after its timeout");
  return (await lease.unlessLost(late))?.result;
}

/**
 * The run's deadline passed while its handler runs: the run is marked as compensating now, and undoes its steps
 * once the handler has ended.
 */
async function turnBack(tools: Tools, run: RunRecord, step: string): Promise<void> {
  const { store, decider } = tools;
  const decided = await decider.steer(run, { kind: "deadline", delivery: "running", step });
  // If the run has changed, another process or the reaper was first.
  if (decided && (await store.move(decided.move, decided.out))) await tools.hastenLate(decided.move);
}
