/** Sagas whose steps all succeed in the end. */
import { saga } from "amends";
import { anything, ID, type Scenario } from "../scenario.ts";
import { untilStopped } from "../../external-world/world.ts";

const nothing = (): void => undefined;

const completed: Scenario = {
  name: "completed",
  title:
    "[S-07][S-08][S-09][S-28] a saga continues after its last finished step, with its results, and its events are emitted once",
  ends: ["COMPLETED"],
  workload(world) {
    const order = saga("order", anything)
      .step("reserve", { act: () => ({ id: 7 }), compensate: nothing })
      .step("charge", {
        act: (call) => (world.emit(call, "charged"), { of: call.results.reserve.id }),
        compensate: nothing,
      })
      .step("ship", {
        act: (call) => {
          if (call.results.charge.of !== 7) throw new Error("the result of a done step was lost");
          world.emit(call, "shipped");
        },
      });
    return {
      sagas: [order],
      async run({ amends, worker }) {
        await worker.start();
        await (await amends.start(order, {}, { id: ID })).result();
      },
    };
  },
};

const startedInTransaction: Scenario = {
  name: "started-in-transaction",
  title:
    "[S-19][S-17][K-04] a saga that is started in its caller's transaction exists exactly if that commits, and is then claimed and finished",
  ends: ["COMPLETED"],
  workload(world) {
    const order = saga("order", anything).step("reserve", { act: nothing }).step("charge", { act: nothing });
    return {
      sagas: [order],
      async run({ amends, worker, database }) {
        await database.transaction(async (_, tx) => {
          await world.write(tx, "order");
          await amends.start(order, {}, { id: ID, tx });
        });
        await worker.start();
        await (await amends.get(ID)).result();
      },
      async check(ended) {
        const rows = (await world.ledger()).get("order") ?? 0;
        return rows === (ended === undefined ? 0 : 1)
          ? []
          : [`S-19: ${rows} orders, and the saga is ${ended}`];
      },
    };
  },
};

const shortWait: Scenario = {
  name: "short-wait",
  title: "[S-13][S-21][S-07] a step that fails for a while is retried, also by the recovery worker",
  ends: ["COMPLETED"],
  workload(world) {
    const order = saga("order", anything)
      .step("reserve", { act: nothing, compensate: nothing })
      .step("charge", {
        act: (call) => world.failFirst(2, call),
        compensate: nothing,
        retry: { attempts: 4, base: 10, cap: 10 },
      });
    return {
      sagas: [order],
      async run({ amends, worker }) {
        await worker.start();
        await (await amends.start(order, {}, { id: ID })).result();
      },
    };
  },
};

const longWait: Scenario = {
  name: "long-wait",
  title:
    "[S-13][S-17][K-18] a retry wait that outlasts its process is a due time in the database, which the next process respects",
  ends: ["COMPLETED"],
  workload(world) {
    const order = saga("order", anything)
      .step("reserve", { act: nothing, compensate: nothing })
      .step("charge", { act: (call) => world.failFirst(1, call), retry: { attempts: 3, base: 1_050 } })
      .step("ship", { act: nothing });
    return {
      sagas: [order],
      async run({ amends, worker }) {
        await worker.start();
        await (await amends.start(order, {}, { id: ID })).result();
      },
    };
  },
};

const pivot: Scenario = {
  name: "pivot",
  title: "[S-22][S-09] after its pivot a saga only goes forward, however often it crashes and fails",
  ends: ["COMPLETED"],
  workload(world) {
    const order = saga("order", anything)
      .step("reserve", { act: nothing, compensate: nothing })
      .pivot("charge", { act: (call) => world.emit(call, "charged") })
      .step("ship", { act: (call) => world.failFirst(2, call), retry: { attempts: 1, base: 10, cap: 10 } })
      .step("mail", { act: nothing });
    return {
      sagas: [order],
      async run({ amends, worker }) {
        await worker.start();
        await (await amends.start(order, {}, { id: ID })).result();
      },
    };
  },
};

const cron: Scenario = {
  name: "cron",
  title: "[S-17][K-04][K-07] a process that runs one batch at a time has the same guarantees",
  ends: ["COMPLETED"],
  workload(world) {
    const order = saga("order", anything)
      .step("reserve", { act: nothing, compensate: nothing })
      .step("charge", { act: (call) => world.failFirst(1, call), retry: { attempts: 3, base: 1_050 } });
    return {
      sagas: [order],
      async run({ amends, worker }) {
        const run = await amends.start(order, {}, { id: ID });
        while ((await run.status()) !== "COMPLETED") {
          await worker.runOnce();
          await new Promise((resolve) => setTimeout(resolve, 10));
        }
      },
    };
  },
};

const slow: Scenario = {
  name: "slow",
  title: "[K-06][K-08][S-16] a long call keeps its lease, and a process that stops around a renewal loses it",
  ends: ["COMPLETED"],
  renewals: true,
  workload(world) {
    const order = saga("order", anything)
      .step("reserve", {
        // The recovery worker does not count renewals, so there the call is short.
        act: ({ signal }) => world.renewed && Promise.race([world.renewed(2), untilStopped(signal)]),
        compensate: nothing,
      })
      .step("charge", { act: nothing });
    return {
      sagas: [order],
      async run({ amends, worker }) {
        await worker.start();
        await (await amends.start(order, {}, { id: ID })).result();
      },
    };
  },
};

export const forward: readonly Scenario[] = [
  completed,
  startedInTransaction,
  shortWait,
  longWait,
  pivot,
  cron,
  slow,
];
