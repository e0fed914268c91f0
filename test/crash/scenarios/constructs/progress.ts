/** Long calls that report how far they have come. */
import { saga, Terminal } from "amends";
import { anything, type Scenario } from "../scenario.ts";
import { untilStopped } from "../../external-world/world.ts";
import { nothing, runToEnd } from "./run-to-end.ts";

const reported: Scenario = {
  name: "progress",
  title:
    "[S-45][K-06] the next attempt of a call gets what a renewal has stored of its progress, and never more than was reported",
  ends: ["COMPLETED"],
  renewals: true,
  workload(world) {
    const copy = saga("copy", anything)
      .step("files", {
        act: async ({ progress, lastProgress, signal }) => {
          const last = (lastProgress as { readonly page: number } | undefined)?.page ?? 0;
          if (last > world.timesAsked("page")) throw new Terminal("more than was reported");
          if (last < world.timesAsked("stored")) throw new Terminal("less than was stored");
          progress({ page: world.ask("page") });
          // The recovery worker does not count renewals, so there the call is short.
          if (!world.renewed) return;
          await Promise.race([world.renewed(2), untilStopped(signal)]);
          world.ask("stored");
          await Promise.race([world.renewed(4), untilStopped(signal)]);
        },
        compensate: nothing,
      })
      .step("mail", { act: nothing });
    return { sagas: [copy], run: runToEnd(copy) };
  },
};

export const progressing: readonly Scenario[] = [reported];
