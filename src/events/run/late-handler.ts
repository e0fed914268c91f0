/**
 * Handlers that do not return in time. One that has not returned keeps its place at the desk; where it was its last try,
 * or its run's time is up, its end is waited for with its lease renewed: nothing is given up or undone while it is known
 * to run.
 */
import { noteRunning } from "../../outbox/queries.ts";
import { DEADLINE_PASSED, type Called, type Request } from "./call.ts";
import type { RunRecord } from "./outcome.ts";
import type { SagaOrchestrator } from "./orchestrator.ts";
import type { FlowStore } from "../store/store.ts";

interface Tools {
  readonly store: FlowStore;
  readonly orchestrator: SagaOrchestrator;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
}

/** How the handler ended. */
export async function endInTime(tools: Tools, request: Request, called: Called): Promise<Called["end"]> {
  const { delivery, run, role, lease } = request;
  const { end, late } = called;
  if (end === undefined || (!late && !called.expired)) return end;
  if (late) lease.keepOrphan(late);
  if (late && end.end === "again") return end;
  const isDeadline = called.expired === true || (end.end === "exhausted" && end.error === DEADLINE_PASSED);
  if (isDeadline && role.kind === "act" && run) await turnBack(tools, run);
  if (!late) return end;
  await tools.store.query(noteRunning(tools.store.dialect, delivery.id, delivery.token));
  const { id, handler } = delivery;
  tools.warn({ id, handler }, "amends: a handler has not returned although its time is over");
  return (await lease.unlessLost(late))?.end;
}

/** The time of a run is up while its handler runs: it turns back, and undoes once the handler has ended. */
async function turnBack({ store, orchestrator }: Tools, run: RunRecord): Promise<void> {
  const decided = orchestrator.steer(run, { kind: "deadline", delivery: "running" });
  // Where the run has moved on, another process or the reaper was first.
  if (decided) await store.move(decided.move, decided.out);
}
