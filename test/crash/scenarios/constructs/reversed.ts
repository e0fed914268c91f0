/** Completed sagas that are taken back as a whole. */
import { saga } from "amends";
import { anything, ID, type Scenario } from "../scenario.ts";
import { nothing, runToEnd, soon } from "./run-to-end.ts";

const reversed: Scenario = {
  name: "reversed",
  title:
    "[S-36][S-33][S-34][S-35][S-26] a completed saga is taken back once: items, rounds, the chosen branch and the child, in reverse, under their keys",
  ends: ["COMPLETED"],
  isTimed: true,
  workload(world) {
    const ship = saga("ship", anything).step("label", { act: nothing, compensate: nothing });
    const order = saga("order", anything, { compensateRetry: soon })
      .each("reserve", {
        over: () => ["a", "b"],
        key: (item) => item,
        act: ({ item }) => item,
        compensate: (call) => world.failFirst(1, call),
        concurrency: 1,
      })
      .when(
        "large",
        () => false,
        (branch) => branch.step("approve", { act: nothing, compensate: nothing }),
        (branch) => branch.step("wave", { act: nothing, compensate: nothing }),
      )
      .repeat("poll", {
        act: nothing,
        until: ({ round }) => round === 2,
        every: 10,
        max: 3,
        compensate: nothing,
      })
      .saga("shipment", ship, { input: () => ({}) });
    return {
      sagas: [order, ship],
      async run(context) {
        await runToEnd(order)(context);
        await (await context.amends.reverse(ID, { reason: "returned" })).result();
      },
    };
  },
};

export const reversals: readonly Scenario[] = [reversed];
