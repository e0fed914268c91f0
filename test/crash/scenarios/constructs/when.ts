/** Sagas that choose a branch. Every time it is asked, the choice is the other one: one that is asked again is noticed. */
import { err, saga, type AnySaga } from "amends";
import { anything, type Scenario } from "../scenario.ts";
import type { World } from "../../external-world/world.ts";
import { nothing, runToEnd, soon } from "./run-to-end.ts";

function choosing(world: World, ship: () => unknown): AnySaga {
  return saga("order", anything, { compensateRetry: soon })
    .step("quote", { act: nothing, compensate: nothing })
    .when(
      "large",
      () => world.ask("large") % 2 === 1,
      (branch) =>
        branch
          .step("approve", { act: () => "approved", compensate: (call) => world.failFirst(1, call) })
          .when(
            "gift",
            () => true,
            (inner) => inner.step("wrap", { act: () => "wrapped", compensate: nothing }),
          ),
      (branch) => branch.step("wave", { act: () => "waved", compensate: nothing }),
    )
    .step("ship", {
      act: ({ results: { large, approve, wrap, wave } }) => {
        const got = [large, approve, wrap, wave].map(String).join();
        const due = large ? "true,approved,wrapped,undefined" : "false,undefined,undefined,waved";
        if (got !== due) throw new Error(`the branches came to ${got}`);
        return ship();
      },
    });
}

const chosen: Scenario = {
  name: "when",
  title:
    "[S-34][S-07][S-09] a choice is asked for once: the recovery worker goes on in the branch that was chosen",
  ends: ["COMPLETED"],
  workload(world) {
    const order = choosing(world, nothing);
    return { sagas: [order], run: runToEnd(order) };
  },
};

const chosenFailed: Scenario = {
  name: "when-failed",
  title: "[S-34][S-10] only the steps of the branch that ran are undone, also across a crash",
  ends: ["FAILED"],
  workload(world) {
    const order = choosing(world, () => err("no-carrier"));
    return { sagas: [order], run: runToEnd(order) };
  },
};

export const choices: readonly Scenario[] = [chosen, chosenFailed];
