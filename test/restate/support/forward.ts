/** Stories of sagas that go forward: order, groups, lists, rounds, choices, fallbacks, retries. */
import { saga } from "../../../src/index.ts";
import { z } from "zod";
import type { Ledger } from "./ledger.ts";
import { stepsOn } from "./steps.ts";
import type { Stories } from "./stories.ts";

const nothing = z.object({});
const QUICK = { attempts: 3, base: "20ms", cap: "20ms" } as const;

export function forwardStories(ledger: Ledger): Stories {
  const { calm, failing } = stepsOn(ledger);
  return {
    completes: {
      saga: saga("completes", nothing)
        .step("a", calm("a"))
        .step("b", calm("b"))
        .step("c", calm("c"))
        .step("d", calm("d"))
        .step("e", {
          act: ({ sagaId, results, key }) => (ledger.write(sagaId, key.slice(sagaId.length)), { ...results }),
        }),
    },
    "tries-again": {
      saga: saga("tries-again", nothing)
        .step("a", { act: failing("a", 2), retry: QUICK })
        .step("b", { act: failing("b", 1), retry: { attempts: 2, base: "1500ms" } }),
    },
    "goes-on-from-progress": {
      saga: saga("goes-on-from-progress", nothing).step("a", {
        retry: QUICK,
        act: ({ sagaId, progress, lastProgress, attempt }) => {
          ledger.write(sagaId, `from ${JSON.stringify(lastProgress)}`);
          progress({ done: attempt });
          if (attempt < 3) throw new Error("busy");
          return lastProgress;
        },
      }),
    },
    "acts-at-the-same-time": {
      saga: saga("acts-at-the-same-time", nothing)
        .parallel(
          "both",
          (group) =>
            group
              .step("left", calm("left"))
              .step("right", { act: failing("right", 1), retry: QUICK })
              .step("third", calm("third")),
          { concurrency: 2 },
        )
        .step("last", { act: ({ results }) => Object.keys(results).toSorted() }),
    },
    "acts-for-each": {
      saga: saga("acts-for-each", nothing)
        .each("reserve", {
          over: () => ["tea", "milk", "sugar"],
          key: (item) => item,
          concurrency: 2,
          act: ({ sagaId, item, key }) => (
            ledger.write(sagaId, `reserve ${key.slice(sagaId.length)}`),
            `r-${item}`
          ),
        })
        .step("ship", { act: ({ results }) => results.reserve.map(({ result }) => result) }),
    },
    "acts-in-rounds": {
      saga: saga("acts-in-rounds", nothing)
        .repeat("look", {
          act: ({ sagaId, round }) => (ledger.write(sagaId, `look ${round}`), { ready: round === 3 }),
          until: ({ result }) => result.ready,
          every: "50ms",
          max: 5,
        })
        .step("last", calm("last")),
    },
    chooses: {
      saga: saga("chooses", nothing)
        .when(
          "large",
          ({ sagaId }) => (ledger.write(sagaId, "asked"), true),
          (branch) => branch.step("announce", calm("announce")),
          (branch) => branch.step("wave", calm("wave")),
        )
        .step("last", calm("last")),
    },
    "falls-back": {
      saga: saga("falls-back", nothing)
        .step("a", calm("a"))
        .step("charge", {
          act: failing("charge", 9),
          compensate: ({ sagaId }) => ledger.write(sagaId, "undo charge"),
          retry: { attempts: 2, base: "20ms" },
          fallback: { name: "invoice", ...calm("invoice") },
        })
        .step("last", { act: ({ results }) => results.charge }),
    },
    "goes-forward-behind-its-pivot": {
      saga: saga("goes-forward-behind-its-pivot", nothing)
        .step("a", calm("a"))
        .pivot("charge", { act: ({ sagaId }) => ledger.write(sagaId, "charge") })
        .step("ship", { act: failing("ship", 4), retry: QUICK }),
    },
    "is-skipped-behind-its-pivot": {
      saga: saga("is-skipped-behind-its-pivot", nothing)
        .pivot("charge", { act: ({ sagaId }) => ledger.write(sagaId, "charge") })
        .step("ship", { act: failing("ship", 99), retry: { attempts: 1, base: "1h", cap: "1h" } })
        .step("last", { act: ({ results }) => results.ship }),
      meddle: async ({ shows, skip }) => {
        await shows(({ skippable }) => skippable.includes("ship"));
        await skip("ship", { reason: "by hand", by: "ann", result: "shipped by hand" });
      },
    },
  };
}
