/** Sagas that somebody steers while they run: cancelled from elsewhere, or given back by a worker that shuts down. */
import { saga, type AnySaga, type Saga, type Worker } from "amends";
import { anything, ID, type Play, type Scenario, type Stage } from "../scenario.ts";
import { untilStopped, type World } from "../world.ts";

const nothing = (): void => undefined;

/** Its second step is cancelled while it runs, by whatever the world calls another process. */
function cancelledWhileRunning(world: World, prepare: (stage: Stage) => void): Play {
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
    async run(stage) {
      prepare(stage);
      await stage.worker.start();
      await (await stage.amends.start(order, {}, { id: ID })).result();
    },
  };
}

const cancelled: Scenario = {
  name: "cancelled",
  title:
    "[S-23][S-15][S-16] a saga that another process cancels is undone, wherever the one that runs it stops",
  ends: ["FAILED"],
  play: (world) => cancelledWhileRunning(world, nothing),
};

const canceller: Scenario = {
  name: "canceller",
  title: "[S-23][S-15] a cancel is a line of the log or nothing at all, wherever the one who cancels stops",
  ends: ["FAILED"],
  play: (world) =>
    cancelledWhileRunning(world, ({ another }) => {
      const other = another();
      world.cancel = async (id) => void (await other.cancel(id, { reason: "changed her mind" }));
    }),
};

/** Its worker is asked to stop by the second step. */
async function runUntilStopped(
  order: Saga<object, object, Record<string, unknown>, never> | AnySaga,
  world: World,
  { amends, worker }: Stage,
  deadline: Parameters<Worker["stop"]>[0],
): Promise<void> {
  const stopped = new Promise<void>((resolve) => (world.shutDown = () => resolve(worker.stop(deadline))));
  await worker.start();
  const run = await amends.start(
    order as Saga<object, object, Record<string, unknown>, never>,
    {},
    { id: ID },
  );
  // Whoever woke up too late never comes to the second step.
  await Promise.race([stopped, run.result()]);
}

const drained: Scenario = {
  name: "drained",
  title: "[K-18][S-09] a worker that shuts down books the call that runs and gives the saga back",
  ends: ["COMPLETED"],
  play(world) {
    const order = saga("order", anything)
      .step("reserve", { act: nothing, compensate: nothing })
      .step("charge", { act: () => world.shutDown?.() })
      .step("ship", { act: nothing });
    return { sagas: [order], run: (stage) => runUntilStopped(order, world, stage, { deadline: "10s" }) };
  },
};

const interrupted: Scenario = {
  name: "interrupted",
  title: "[K-18][S-11] a call that a shutdown interrupts has no outcome and is made again elsewhere",
  ends: ["COMPLETED"],
  play(world) {
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
    return { sagas: [order], run: (stage) => runUntilStopped(order, world, stage, { deadline: 50 }) };
  },
};

export const steered: readonly Scenario[] = [cancelled, canceller, drained, interrupted];
