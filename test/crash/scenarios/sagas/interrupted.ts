/** Sagas that are interrupted while they run: cancelled by another process, or released by a worker that shuts down. */
import { saga, type AnySaga, type Saga, type Worker } from "amends";
import { anything, ID, type Workload, type Scenario, type RunContext } from "../scenario.ts";
import { untilStopped, type World } from "../../external-world/world.ts";

const nothing = (): void => undefined;

/** The saga is cancelled while its second step runs, by `world.cancel`. */
function cancelledWhileRunning(world: World, prepare: (context: RunContext) => void): Workload {
  const order = saga("order", anything)
    .step("reserve", { act: nothing, compensate: nothing })
    .step("charge", {
      act: async ({ sagaId, signal }) => {
        await world.cancel(sagaId);
        await untilStopped(signal);
      },
      compensate: nothing,
    })
    .step("ship", { act: nothing });
  return {
    sagas: [order],
    async run(context) {
      prepare(context);
      await context.worker.start();
      await (await context.amends.start(order, {}, { id: ID })).result();
    },
  };
}

const cancelled: Scenario = {
  name: "cancelled",
  title: "[S-23][S-15][S-16] a saga that another process cancels is undone, wherever its own process crashes",
  ends: ["FAILED"],
  workload: (world) => cancelledWhileRunning(world, nothing),
};

const canceller: Scenario = {
  name: "canceller",
  title:
    "[S-23][S-15] a cancel is either a line of the log or has no effect, wherever the cancelling process crashes",
  ends: ["FAILED"],
  workload: (world) =>
    cancelledWhileRunning(world, ({ another }) => {
      const other = another();
      world.cancel = async (id) => void (await other.cancel(id, { reason: "changed her mind" }));
    }),
};

/** The second step asks the worker to stop. */
async function runUntilStopped(
  order: Saga<object, object, Record<string, unknown>, never> | AnySaga,
  world: World,
  { amends, worker }: RunContext,
  deadline: Parameters<Worker["stop"]>[0],
): Promise<void> {
  const stopped = new Promise<void>((resolve) => (world.shutDown = () => resolve(worker.stop(deadline))));
  await worker.start();
  const run = await amends.start(
    order as Saga<object, object, Record<string, unknown>, never>,
    {},
    { id: ID },
  );
  // A process that woke up after its saga was taken over never runs the second step.
  await Promise.race([stopped, run.result()]);
}

const drained: Scenario = {
  name: "drained",
  title:
    "[K-18][S-09] a worker that shuts down persists the outcome of the running call and releases the saga",
  ends: ["COMPLETED"],
  workload(world) {
    const order = saga("order", anything)
      .step("reserve", { act: nothing, compensate: nothing })
      .step("charge", { act: () => world.shutDown?.() })
      .step("ship", { act: nothing });
    return { sagas: [order], run: (context) => runUntilStopped(order, world, context, { deadline: "10s" }) };
  },
};

const aborted: Scenario = {
  name: "interrupted",
  title: "[K-18][S-11] a call that a shutdown interrupts has no outcome and is repeated by another worker",
  ends: ["COMPLETED"],
  workload(world) {
    const order = saga("order", anything)
      .step("reserve", { act: nothing, compensate: nothing })
      .step("charge", {
        act: async ({ signal }) => {
          if (!world.shutDown) return;
          world.shutDown();
          await untilStopped(signal);
        },
        compensate: nothing,
      })
      .step("ship", { act: nothing });
    return { sagas: [order], run: (context) => runUntilStopped(order, world, context, { deadline: 50 }) };
  },
};

export const interrupted: readonly Scenario[] = [cancelled, canceller, drained, aborted];
