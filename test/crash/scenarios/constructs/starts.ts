/** Several sagas that are started in one commit, with start controls. */
import { saga } from "amends";
import { anything, ID, type Scenario } from "../scenario.ts";
import { countRows } from "../outbox/erasure-workload.ts";
import { nothing } from "./run-to-end.ts";

const IDS = [ID, "two", "three"];

const together: Scenario = {
  name: "started-together",
  title:
    "[S-39][S-18] sagas that are started in one commit exist all or not at all, with their attributes, and one that is to begin later begins later",
  ends: ["COMPLETED"],
  isTimed: true,
  workload(world) {
    const order = saga("order", anything)
      .step("reserve", { act: nothing, compensate: nothing })
      .step("ship", { act: nothing });
    return {
      sagas: [order],
      async run({ amends, worker }) {
        await worker.start();
        const runs = await amends.startMany(
          order,
          IDS.map((id, at) => ({
            input: {},
            id,
            priority: at,
            attributes: { tenant: "acme", at },
            ...(id === "three" && { delay: 1_050 }),
          })),
        );
        await Promise.all(runs.map((run) => run.result()));
      },
      async check(ended) {
        const found = await countRows(world.database, "saga_executions");
        return found === (ended === undefined ? 0 : IDS.length)
          ? []
          : [`S-39: ${found} of ${IDS.length} sagas were started`];
      },
    };
  },
};

export const startedTogether: readonly Scenario[] = [together];
