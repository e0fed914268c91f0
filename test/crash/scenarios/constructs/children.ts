/** Sagas that start another saga and wait for its end. */
import { err, saga, type AnySaga } from "amends";
import { anything, ID, type Scenario } from "../scenario.ts";
import { untilStopped, type World } from "../../external-world/world.ts";
import { nothing, runToEnd, soon } from "./run-to-end.ts";

interface Shop {
  /** The second step of the child. */
  readonly hand?: () => unknown;
  /** The step of the parent behind the child. */
  readonly mail?: () => unknown;
}

/** A parent and its child. Both have undos that fail at first. */
function shop(world: World, { hand = nothing, mail = nothing }: Shop): readonly [AnySaga, AnySaga] {
  const ship = saga("ship", anything, { compensateRetry: soon })
    .step("label", { act: () => "L", compensate: (call) => world.failFirst(1, call) })
    .step("hand", { act: hand, compensate: nothing });
  const order = saga("order", anything, { compensateRetry: soon })
    .step("reserve", { act: nothing, compensate: nothing })
    .saga("shipment", ship, { input: () => ({}) })
    .step("mail", {
      act: ({ results: { shipment } }) => {
        if (shipment.id !== `${ID}:shipment` || shipment.results.label !== "L")
          throw new Error("the results of the child were lost");
        return mail();
      },
    });
  return [order, ship];
}

const child: Scenario = {
  name: "child",
  title:
    "[S-26][S-09] a step has one child, whichever of the two processes dies, and the parent gets the child's results once",
  ends: ["COMPLETED"],
  workload(world) {
    const sagas = shop(world, {});
    return { sagas, run: runToEnd(sagas[0]) };
  },
};

const childReversed: Scenario = {
  name: "child-reversed",
  title:
    "[S-26][S-36][S-10] a parent that turns back takes its completed child back, once, before what came before it",
  ends: ["FAILED"],
  workload(world) {
    const sagas = shop(world, { mail: () => err("no-address") });
    return { sagas, run: runToEnd(sagas[0]) };
  },
};

const childFailed: Scenario = {
  name: "child-failed",
  title: "[S-26][S-10] a child that fails undoes itself and fails its parent's step, also across a crash",
  ends: ["FAILED"],
  workload(world) {
    const sagas = shop(world, { hand: () => err("no-carrier") });
    return { sagas, run: runToEnd(sagas[0]) };
  },
};

const childCancelled: Scenario = {
  name: "child-cancelled",
  title:
    "[S-26][S-23] a parent that is cancelled while its child runs cancels the child, and waits for what the child undoes",
  ends: ["FAILED"],
  workload(world) {
    const ship = saga("ship", anything)
      .step("label", { act: nothing, compensate: nothing })
      .step("hand", {
        act: async ({ signal }) => {
          await world.cancel(ID);
          await untilStopped(signal);
        },
        compensate: nothing,
      });
    const order = saga("order", anything)
      .step("reserve", { act: nothing, compensate: nothing })
      .saga("shipment", ship, { input: () => ({}) })
      .step("mail", { act: nothing });
    return { sagas: [order, ship], run: runToEnd(order) };
  },
};

export const families: readonly Scenario[] = [child, childReversed, childFailed, childCancelled];
