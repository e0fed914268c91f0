/** Sagas that sleep, and that wait for signals: one is sent before the wait begins, the other during it. */
import { AmendsError, saga, signal, type Amends } from "amends";
import { anything, ID, type Scenario } from "../scenario.ts";

const paid = signal("paid", anything);
const approved = signal("approved", anything);

/** Long enough that twenty polling runs do not keep their process from renewing its leases. */
const POLL_MS = 200;

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, POLL_MS));
}

/** Every process that runs the saga also signals it once it waits, always with the same signal id. */
async function signalWhenWaiting(amends: Amends): Promise<void> {
  try {
    while ((await amends.inspect(ID))?.waiting?.step !== "approval") await pause();
    await amends.signal(ID, approved, { by: "ann" }, { id: "click" });
  } catch (error) {
    // The process closed its database, or the saga has ended because another process sent the signal.
    if (!(error instanceof AmendsError)) throw error;
  }
}

const signalled: Scenario = {
  name: "waiting",
  title:
    "[S-25][S-09][S-15] a saga that sleeps and gets one signal before and one during its wait receives each once, wherever its process crashes",
  ends: ["COMPLETED"],
  workload() {
    let peer: Amends | undefined;
    const order = saga("order", anything)
      .step("ask", {
        act: async ({ key }) => void (await peer?.signal(ID, paid, { cents: 7 }, { id: key })),
        compensate: () => undefined,
      })
      .sleep("cool-off", 1_050)
      .waitFor("payment", { signal: paid, timeout: "1h" })
      .waitFor("approval", { signal: approved, timeout: "1h" })
      .step("ship", {
        act: ({ results }) => {
          const got = JSON.stringify([results.payment, results.approval]);
          if (got !== '[{"cents":7},{"by":"ann"}]') throw new Error(`the saga received ${got}`);
        },
      });
    return {
      sagas: [order],
      onAmends(amends) {
        peer = amends;
        void signalWhenWaiting(amends);
      },
      async run({ amends, worker }) {
        await worker.start();
        await (await amends.start(order, {}, { id: ID })).result();
      },
    };
  },
};

export const waiting: readonly Scenario[] = [signalled];
