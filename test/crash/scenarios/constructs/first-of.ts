/** Sagas that wait for the first of several arrivals and times. */
import { saga, signal, type Amends } from "amends";
import { anything, ID, type Scenario } from "../scenario.ts";
import { nothing, runToEnd } from "./run-to-end.ts";

const paid = signal("paid", anything);
const cancelled = signal("cancelled", anything);

const firstOf: Scenario = {
  name: "first-of",
  title:
    "[S-37][S-25] the earliest of several arrivals wins once, wherever the process crashes, and what came later is kept for a later wait",
  ends: ["COMPLETED"],
  workload() {
    let peer: Amends | undefined;
    const order = saga("order", anything)
      .step("ask", {
        act: async ({ key }) => {
          await peer?.signal(ID, cancelled, { by: "ann" }, { id: `${key} 1` });
          await peer?.signal(ID, paid, { cents: 7 }, { id: `${key} 2` });
        },
        compensate: nothing,
      })
      .waitFor("decision", { any: { paid: { signal: paid }, cancelled: { signal: cancelled }, late: "1h" } })
      .waitFor("payment", { any: { paid: { signal: paid }, late: "1h" } })
      .waitFor("grace", { any: { paid: { signal: paid }, late: 1_050 } })
      .step("ship", {
        act: ({ results: { decision, payment, grace } }) => {
          const got = [decision, payment, grace].map(({ which }) => which).join();
          if (got !== "cancelled,paid,late") throw new Error(`the waits came to ${got}`);
        },
      });
    return { sagas: [order], onAmends: (amends) => void (peer = amends), run: runToEnd(order) };
  },
};

export const firstOfSeveral: readonly Scenario[] = [firstOf];
