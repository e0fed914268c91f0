/** Event sagas that compensate: after err, after the last retry, after a deadline; and operators' actions on stalled runs. */
import { Terminal } from "amends";
import { forEachAttentionItem, orderWorkload, untilCompensating } from "./order-workload.ts";
import type { Workload, Scenario, RunContext } from "../scenario.ts";
import { untilStopped, type World } from "../../external-world/world.ts";

/** Long enough that a busy machine begins the step well before it. */
const DEADLINE_MS = 1_500;

const no = (): boolean => false;
const broken = (): never => {
  throw new Error("the service is down");
};

const refused: Scenario = {
  name: "flow-refused",
  title:
    "[F-10][F-11] a step that returns err makes its run compensate: every earlier step is undone, in reverse order",
  flowEnds: ["failed"],
  workload: (world) => orderWorkload(world, { behaviors: { ship: no } }),
};

const exhausted: Scenario = {
  name: "flow-exhausted",
  title:
    "[F-12][K-07] a handler that has used up its retries is a failed step, and is undone before the others",
  flowEnds: ["failed"],
  workload: (world) =>
    orderWorkload(world, { behaviors: { ship: broken }, shipRetry: { attempts: 2, base: 20 } }),
};

const overdue: Scenario = {
  name: "flow-overdue",
  isTimed: true,
  title: "[F-16] the reaper makes a run compensate once if its step waits past its deadline",
  flowEnds: ["failed"],
  workload: (world) =>
    orderWorkload(world, {
      behaviors: { ship: broken },
      shipRetry: { attempts: 9, base: 600_000 },
      shipDeadline: DEADLINE_MS,
    }),
};

const timedOut: Scenario = {
  name: "flow-timed-out",
  isTimed: true,
  title: "[F-16][K-08] a handler that is aborted at its deadline is a failed step, and is undone",
  flowEnds: ["failed"],
  workload: (world) =>
    orderWorkload(world, {
      behaviors: { ship: ({ signal }) => untilStopped(signal) },
      shipDeadline: DEADLINE_MS,
      // No reaper runs before the handler's own end.
      poll: 3_600_000,
    }),
};

const late: Scenario = {
  name: "flow-late",
  isTimed: true,
  title:
    "[F-13][F-16] a success that arrives after another process made the run compensate is undone before the others",
  flowEnds: ["failed"],
  workload(world) {
    let context: RunContext | undefined;
    const workload = orderWorkload(world, {
      behaviors: {
        async ship({ signal }) {
          // This handler ignores the aborted signal.
          await untilStopped(signal).catch(() => undefined);
          const other = context?.another();
          await untilCompensating(world, async () => void (await other?.worker().runOnce()));
          return true;
        },
      },
      shipDeadline: DEADLINE_MS,
      poll: 3_600_000,
    });
    return { ...workload, run: (given: RunContext) => ((context = given), workload.run(given)) };
  },
};

const note = { reason: "the service was repaired", by: "operator" };

function stalling(world: World, action: "retry" | "resolve"): Workload {
  return orderWorkload(world, {
    behaviors: { ship: no, uncharge: () => world.isRepaired },
    operate: forEachAttentionItem(async (amends, id) => {
      if (action === "retry") world.repair();
      await amends.events[action](id, note);
    }),
  });
}

const retriedByHand: Scenario = {
  name: "flow-stalled-retried",
  title:
    "[F-11][P-02] a run whose undo failed stalls; an operator's retry undoes the rest, and the run ends failed",
  flowEnds: ["failed"],
  workload: (world) => stalling(world, "retry"),
};

const resolvedByHand: Scenario = {
  name: "flow-stalled-resolved",
  title: "[F-11][P-02] a run whose undo an operator resolves undoes the rest and ends failed",
  flowEnds: ["failed"],
  workload: (world) => stalling(world, "resolve"),
};

const givenUp: Scenario = {
  name: "flow-given-up",
  title:
    "[F-12][P-02] an event whose handler used up its retries waits for an operator, and is then handled once",
  flowEnds: ["completed"],
  workload: (world) =>
    orderWorkload(world, {
      behaviors: {
        notify: () => {
          if (!world.isRepaired) throw new Terminal("closed");
          return true;
        },
      },
      operate: forEachAttentionItem(async (amends, id) => {
        world.repair();
        await amends.events.retry(id, note);
      }),
    }),
};

export const flowCompensating: readonly Scenario[] = [
  refused,
  exhausted,
  overdue,
  timedOut,
  late,
  retriedByHand,
  resolvedByHand,
  givenUp,
];
