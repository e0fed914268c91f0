/** Finds runs that are past their deadline and starts their compensation. */
import { isOutage, errorLabel } from "../../core/errors.ts";
import type { FlowEvent } from "../../core/flow/decide.ts";
import { progressOf } from "../../core/flow/path.ts";
import { HELD } from "../../core/outbox/machine.ts";
import { AWAITED, selectAwaited, type AwaitedDelivery } from "../../outbox/deliveries/claim-queries.ts";
import type { Dialect } from "../../storage/database.ts";
import type { Clock } from "../../storage/clock.ts";
import { Chore } from "../../runtime/chore.ts";
import { lookFor, type Duty } from "../../runtime/duty.ts";
import type { PartContext } from "../../runtime/part.ts";
import type { RunRecord } from "./outcome.ts";
import type { EventEngine } from "./engine.ts";
import { DEADLINE_PASSED } from "./result.ts";
import { selectExpired, untilDeadline } from "../store/run-queries.ts";
import { STORED_RUN, toRun, trailOf } from "../store/run-row.ts";

const BATCH = 100;

export interface ReaperOptions {
  readonly engine: EventEngine;
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly warn: PartContext["warn"];
}

export function reaper(options: ReaperOptions): Duty {
  const run = (limit: number): Promise<number> => turnExpired(options, limit);
  const look = lookFor(() => untilDeadline(options.dialect));
  return new Chore({ name: "events:deadlines", batch: BATCH, look, run });
}

/** Returns the number of runs whose compensation was started here. */
async function turnExpired(options: ReaperOptions, limit: number): Promise<number> {
  const { engine, dialect, clock } = options;
  const rows = await engine.store.query(selectExpired(dialect, limit));
  const hereMs = clock.monotonicMs();
  let turned = 0;
  for (const run of rows.flatMap((row) => STORED_RUN.tryRead(row) ?? []))
    if (await turn(options, toRun(run, hereMs), trailOf(run))) turned++;
  if (turned > 0) engine.pool.dueIn(0);
  return turned;
}

/** True if this call started the compensation; another process or a concurrent answer may have been first. */
async function turn(
  { engine, dialect, warn }: ReaperOptions,
  run: RunRecord,
  trail: readonly string[],
): Promise<boolean> {
  const saga = engine.registry.saga(run.sagaType);
  const due = saga && progressOf(engine.registry.plan(saga), run.state)?.due[0];
  const step = due === undefined ? undefined : saga?.step(due);
  if (!step) return false; // a process that knows this saga handles it
  const [row] = await engine.store.query(selectAwaited(dialect, trail, step.handler.name));
  const awaited = row && AWAITED.read(row);
  const delivery = conditionOf(awaited);
  try {
    const decided = await engine.decider.steer(run, { kind: "deadline", delivery, step: step.name });
    if (!decided) return false;
    // An unclaimed delivery is superseded; a running handler is waited for.
    const { move, out } = decided;
    const isTurned =
      !awaited || delivery === "running"
        ? await engine.store.move(move, out)
        : await engine.store.supersede(awaited, DEADLINE_PASSED, move, out);
    if (isTurned) await engine.hastenLate(move);
    return isTurned;
  } catch (error) {
    if (isOutage(error)) throw error;
    const fields = { saga: run.sagaType, id: run.sagaId, error: errorLabel(error) };
    warn(fields, "amends: a run past its deadline could not be compensated; trying again");
    return false;
  }
}

function conditionOf(
  awaited: AwaitedDelivery | undefined,
): Extract<FlowEvent, { kind: "deadline" }>["delivery"] {
  if (!awaited) return "doubtful";
  if (HELD.includes(awaited.status) && awaited.isLeased) return "running";
  // Every claim raises the token, also one that does not count as an attempt.
  return awaited.token === 0 ? "unbegun" : "doubtful";
}
