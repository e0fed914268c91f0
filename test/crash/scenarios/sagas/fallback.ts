/** Sagas in which a step fails and its fallback runs instead. */
import { err, saga } from "amends";
import { anything, ID, type Scenario } from "../scenario.ts";

const nothing = (): void => undefined;
const soon = { attempts: 4, base: 10, cap: 10 } as const;

const fallbackActs: Scenario = {
  name: "fallback",
  title:
    "[S-20][S-07][S-09] a failed step is undone, its fallback acts, and the recovery worker continues with the same branch",
  ends: ["COMPLETED"],
  workload(world) {
    const order = saga("order", anything, { compensateRetry: soon })
      .step("reserve", { act: () => ({ id: 7 }), compensate: nothing })
      .step("charge", {
        act: (call) => world.failFirst(Infinity, call),
        retry: { attempts: 2, base: 10, cap: 10 },
        compensate: (call) => world.failFirst(1, call),
        fallback: {
          name: "invoice",
          retry: soon,
          act: (call) => {
            world.failFirst(1, call);
            world.emit(call, "invoiced");
            return { of: call.results.reserve.id };
          },
          compensate: nothing,
          breaker: { threshold: 3 },
        },
      })
      .step("ship", {
        act: (call) => {
          if (call.results.charge?.of !== 7) throw new Error("the fallback's result was lost");
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

const fallbackFails: Scenario = {
  name: "fallback-failed",
  title: "[S-20][S-06][S-10] the possible effects of both branches are undone, also across a crash",
  ends: ["FAILED"],
  workload(world) {
    const order = saga("order", anything, { compensateRetry: soon })
      .step("reserve", { act: nothing, compensate: nothing })
      .step("charge", {
        act: () => err("declined"),
        compensate: nothing,
        fallback: { name: "invoice", when: ["declined"], act: nothing, compensate: nothing },
      })
      .step("pack", {
        act: (call) => world.failFirst(Infinity, call),
        retry: { attempts: 1 },
        compensate: nothing,
        fallback: { name: "wrap", act: () => err("no-paper"), compensate: nothing },
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

export const fallback: readonly Scenario[] = [fallbackActs, fallbackFails];
