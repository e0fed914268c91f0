/** Sagas with a step behind the pivot that keeps failing, until an operator skips it. */
import { AmendsError, saga, type Amends } from "amends";
import { pause } from "../../harness/open-work.ts";
import { anything, ID, type Scenario } from "../scenario.ts";
import { nothing, runToEnd } from "./run-to-end.ts";

/** Every process has an operator who skips the step once it may be skipped. */
async function skipOnceAllowed(amends: Amends): Promise<void> {
  for (;;) {
    try {
      const view = await amends.inspect(ID);
      if (view?.status === "COMPLETED") return;
      if (view?.skippable.includes("ship")) await amends.skip(ID, "ship", { reason: "sent by hand" });
    } catch (error) {
      // The step is being called now, or the process has closed its database.
      if (!(error instanceof AmendsError)) throw error;
      if (error.code !== "NOT_ALLOWED_NOW") return;
    }
    await pause();
  }
}

const skipped: Scenario = {
  name: "skipped-behind-pivot",
  title:
    "[S-38][S-22] a step behind the pivot is tried without end, until an operator skips it: then the saga goes on, wherever it crashed",
  ends: ["COMPLETED"],
  isTimed: true,
  workload(world) {
    const order = saga("order", anything)
      .step("reserve", { act: nothing, compensate: nothing })
      .pivot("charge", { act: nothing })
      .step("ship", {
        act: (call) => world.failFirst(Infinity, call),
        retry: { attempts: 1, base: 300, cap: 300 },
      })
      .step("mail", { act: nothing });
    return { sagas: [order], onAmends: (amends) => void skipOnceAllowed(amends), run: runToEnd(order) };
  },
};

export const behindPivot: readonly Scenario[] = [skipped];
