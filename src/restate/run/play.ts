/** Runs one saga in a workflow of Restate, from its beginning to its end. */
import { decodePlan, encodePlan, misfit } from "../../core/saga/plan.ts";
import type { AnySaga } from "../../sagas/define/definition.ts";
import { drive } from "../../sagas/driver/drive.ts";
import { outlastCalls } from "../../sagas/driver/orphaned-calls.ts";
import { claimLines } from "../../sagas/journal/claim/take-over.ts";
import type { SagaOutcome } from "../../sagas/view/outcome.ts";
import { wallMs } from "../../storage/clock.ts";
import { OWNER, RestateHost, type HostTools } from "./saga-host.ts";
import { recorded } from "./recorded.ts";
import type { RunContext } from "../sdk.ts";
import { SagaLog, type StartOrder } from "../stored-saga.ts";

/** The first record of a saga: later attempts go by it, whatever the definition has become. */
interface Begin {
  readonly atMs: number;
  readonly plan: string;
  readonly deadlineMs: number | undefined;
  /** The deadlines of steps, by name. */
  readonly steps: Readonly<Record<string, number>>;
}

/** `pause` throws what pauses the workflow. */
export async function play(
  context: RunContext,
  tools: HostTools,
  definition: AnySaga,
  order: StartOrder,
  pause: (message: string) => never,
): Promise<SagaOutcome> {
  const { value: begin, isMade } = await recorded(context, "$begin", async () =>
    beginOf(definition, wallMs(tools.clock)),
  );
  const plan = decodePlan(begin.plan);
  const difference = misfit(plan, definition.plan);
  if (difference !== undefined)
    pause(`The definition no longer fits the saga: ${difference}. Serve one that fits, and resume the saga.`);
  const { atMs: createdAtMs, deadlineMs } = begin;
  const deadlineAtMs = deadlineMs === undefined ? undefined : createdAtMs + deadlineMs;
  const log = new SagaLog({
    ...order,
    id: context.key,
    name: definition.name,
    plan,
    createdAtMs,
    deadlineAtMs,
  });
  log.append(claimLines(log.read(createdAtMs), OWNER, false), createdAtMs);
  const record = log.read(createdAtMs);
  const host = new RestateHost(context, tools, log, record, withDeadlines(definition, begin.steps), isMade);
  for (;;) {
    await drive(host, host.run);
    const outcome = host.tell();
    await outlastCalls(host, host.run);
    if (outcome && outcome.status !== "STALLED") return outcome;
    await host.park();
  }
}

function beginOf({ plan, settings, steps }: AnySaga, atMs: number): Begin {
  const deadlines = steps.flatMap(({ name, deadlineMs }) =>
    deadlineMs === undefined ? [] : [[name, deadlineMs] as const],
  );
  return {
    atMs,
    plan: encodePlan(plan),
    deadlineMs: settings.deadlineMs,
    steps: Object.fromEntries(deadlines),
  };
}

/** A saga keeps the deadlines with which it began: otherwise a replay could decide otherwise than before. */
function withDeadlines(definition: AnySaga, deadlines: Begin["steps"]): AnySaga {
  const steps = definition.steps.map((step) => ({ ...step, deadlineMs: deadlines[step.name] }));
  return { ...definition, steps };
}
