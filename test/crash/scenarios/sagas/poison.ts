/** A saga whose second step kills its process, as often as its recovery budget allows. */
import { saga } from "amends";
import { anything, ID, type Scenario } from "../scenario.ts";

export const POISON_RECOVERIES = 2;

export const poison: Scenario = {
  name: "poison",
  title: "",
  ends: ["STALLED"],
  workload(world) {
    const order = saga("order", anything, { recoveries: POISON_RECOVERIES })
      .step("reserve", { act: () => undefined, compensate: () => undefined })
      .step("charge", { act: () => world.shutDown?.(), compensate: () => undefined });
    return {
      sagas: [order],
      async run({ amends, worker }) {
        world.shutDown = () => void process.kill(process.pid, "SIGKILL");
        await worker.start();
        await (await amends.start(order, {}, { id: ID })).result();
      },
    };
  },
};
