/** Sagas that wait: for time to pass, for what they were told before, and for what they are told while they wait. */
import { AmendsError, saga, signal, type Amends } from "amends";
import { anything, ID, type Scenario } from "../scenario.ts";

const paid = signal("paid", anything);
const approved = signal("approved", anything);

/** Seldom enough that twenty lanes of one process, each of which looks, do not keep it from renewing its leases. */
const LOOK_MS = 200;

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, LOOK_MS));
}

/** Whoever works on the saga also tells it, once it waits: as often as it takes, and always the same. */
async function tellWhenAsked(amends: Amends): Promise<void> {
  try {
    while ((await amends.inspect(ID))?.waiting?.step !== "approval") await pause();
    await amends.signal(ID, approved, { by: "ann" }, { id: "click" });
  } catch (error) {
    // The process has closed its database, or another one has told the saga, which went on to its end.
    if (!(error instanceof AmendsError)) throw error;
  }
}

const told: Scenario = {
  name: "waiting",
  title:
    "[S-25][S-09][S-15] a saga that sleeps, was told early and is told while it waits, gets each once and goes on, wherever its process stops",
  ends: ["COMPLETED"],
  play() {
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
          if (got !== '[{"cents":7},{"by":"ann"}]') throw new Error(`it was told ${got}`);
        },
      });
    return {
      sagas: [order],
      meet(amends) {
        peer = amends;
        void tellWhenAsked(amends);
      },
      async run({ amends, worker }) {
        await worker.start();
        await (await amends.start(order, {}, { id: ID })).result();
      },
    };
  },
};

export const waiting: readonly Scenario[] = [told];
