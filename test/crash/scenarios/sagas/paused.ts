/** A saga that another process pauses while a step runs, and resumes once its worker has given it back. */
import { setTimeout as sleep } from "node:timers/promises";
import { AmendsError, saga, type Amends } from "amends";
import { anything, ID, type Scenario } from "../scenario.ts";

const nothing = (): void => undefined;
const note = { reason: "the bank is down" };

/** Once its worker has given it back. */
async function untilReleased(amends: Amends): Promise<void> {
  while ((await amends.inspect(ID))?.owner !== undefined) await sleep(5);
}

/** The process may have crashed before the saga was there. */
function unlessMissing(error: unknown): void {
  if (!(error instanceof AmendsError) || error.code !== "SAGA_NOT_FOUND") throw error;
}

const pausedAndResumed: Scenario = {
  name: "paused",
  title:
    "[S-44][S-15] a paused saga begins nothing until it is resumed, and then completes, wherever its process crashes",
  ends: ["COMPLETED"],
  workload() {
    /** Of the process that is killed: the worker that recovers the saga does not pause it again. */
    let operator: Amends | undefined;
    const order = saga("order", anything)
      .step("reserve", { act: nothing, compensate: nothing })
      .step("charge", {
        act: async () => void (await operator?.pause({ id: ID }, note)),
        compensate: nothing,
      })
      .step("ship", { act: nothing });
    return {
      sagas: [order],
      async run({ amends, worker, another }) {
        operator = another();
        await worker.start();
        const run = await amends.start(order, {}, { id: ID });
        await untilReleased(operator);
        await operator.resume({ id: ID }, note);
        await run.result();
      },
      beforeRecovery: async (amends) => void (await amends.resume({ id: ID }, note).catch(unlessMissing)),
    };
  },
};

export const paused: readonly Scenario[] = [pausedAndResumed];
