/** Stories of sagas that turn back: refusals, failures, deadlines, cancels, stalls and what operators do about them. */
import { saga, Terminal } from "../../../src/index.ts";
import { z } from "zod";
import type { Ledger } from "./ledger.ts";
import { stepsOn } from "./steps.ts";
import { NOTE, type Stories } from "./stories.ts";

const nothing = z.object({});
const QUICK = { attempts: 2, base: "20ms", cap: "20ms" } as const;

export function backwardStories(ledger: Ledger): Stories {
  const { calm, endless, failing, refused } = stepsOn(ledger);
  const gone = (): never => {
    throw new Terminal("gone");
  };
  const stalling = (name: string) =>
    saga(name, nothing, { compensateRetry: { attempts: 1 } })
      .step("a", calm("a"))
      .step("b", { act: calm("b").act, compensate: failing("undo b", 1) })
      .step("c", { act: refused("c") });
  return {
    "is-refused-and-undone": {
      saga: saga("is-refused-and-undone", nothing)
        .step("a", calm("a"))
        .step("b", calm("b"))
        .step("c", calm("c"))
        .step("d", { act: refused("d"), compensate: ({ sagaId }) => ledger.write(sagaId, "undo d") })
        .step("e", calm("e")),
    },
    "fails-for-good": {
      saga: saga("fails-for-good", nothing)
        .step("a", calm("a"))
        .step("b", { act: gone, compensate: ({ sagaId }) => ledger.write(sagaId, "undo b") }),
    },
    "uses-up-its-tries": {
      saga: saga("uses-up-its-tries", nothing)
        .step("a", calm("a"))
        .step("b", {
          act: failing("b", 9),
          compensate: ({ sagaId, result }) => ledger.write(sagaId, `undo b of ${String(result)}`),
          retry: QUICK,
        }),
    },
    "returns-what-cannot-be-stored": {
      saga: saga("returns-what-cannot-be-stored", nothing).step("a", { act: () => 1n as never }),
    },
    "fails-in-a-group": {
      saga: saga("fails-in-a-group", nothing)
        .step("first", calm("first"))
        .parallel("both", (group) =>
          group.step("left", { ...calm("left"), retry: QUICK }).step("right", { act: refused("right") }),
        ),
    },
    "is-skipped": {
      saga: stalling("is-skipped"),
      meddle: async (o) => (await o.result(), o.skip("b", NOTE)),
    },
    "is-retried": { saga: stalling("is-retried"), meddle: async (o) => (await o.result(), o.retry(NOTE)) },
    "is-resolved": {
      saga: stalling("is-resolved"),
      meddle: async (o) => (await o.result(), o.resolve("FAILED", NOTE)),
    },
    "stays-stalled": { saga: stalling("stays-stalled") },
    "does-not-know-its-pivot": {
      saga: saga("does-not-know-its-pivot", nothing)
        .step("a", calm("a"))
        .pivot("charge", { act: failing("charge", 9), retry: { attempts: 1 } }),
      meddle: async (o) => (await o.result(), o.cancel({ ...NOTE, pivotDidNotHappen: true })),
    },
    "is-cancelled": {
      saga: saga("is-cancelled", nothing)
        .step("a", calm("a"))
        .step("b", { act: endless("b"), retry: QUICK }),
      meddle: async (o) => (await o.did("b"), o.cancel(NOTE)),
    },
    "is-cancelled-too-late": {
      saga: saga("is-cancelled-too-late", nothing)
        .pivot("charge", { act: calm("charge").act })
        .step("ship", { act: failing("ship", 1), retry: { attempts: 2, base: "2s" } }),
      meddle: async (o) => (await o.did("ship 1"), o.cancel(NOTE)),
    },
    "passes-its-deadline": {
      saga: saga("passes-its-deadline", nothing, { deadline: "4s" })
        .step("a", calm("a"))
        .step("b", { act: endless("b"), compensate: ({ sagaId }) => ledger.write(sagaId, "undo b") }),
    },
    "passes-the-deadline-of-a-step": {
      saga: saga("passes-the-deadline-of-a-step", nothing)
        .step("a", calm("a"))
        .step("b", {
          act: failing("b", 9),
          retry: { attempts: 9, base: "10m", cap: "10m" },
          deadline: "400ms",
        }),
    },
    "answers-late": {
      saga: saga("answers-late", nothing)
        .step("a", calm("a"))
        .step("b", {
          // It ignores its signal. Its answer counts all the same.
          act: ({ sagaId, attempt }) =>
            new Promise((resolve) => {
              ledger.write(sagaId, `b ${attempt}`);
              setTimeout(() => resolve("b at last"), 800);
            }),
          timeout: "100ms",
          retry: { attempts: 3, base: "1h", cap: "1h" },
        })
        .step("c", { act: ({ results }) => results.b }),
    },
    "tries-again-beside-a-late-call": {
      saga: saga("tries-again-beside-a-late-call", nothing).step("b", {
        act: async ({ sagaId, attempt }) => {
          ledger.write(sagaId, `b ${attempt}`);
          if (attempt === 1) await new Promise((resolve) => setTimeout(resolve, 3_000));
          return attempt;
        },
        timeout: "100ms",
        retry: QUICK,
      }),
    },
    "stalls-until-a-call-returns": {
      saga: saga("stalls-until-a-call-returns", nothing)
        .step("a", calm("a"))
        .step("b", {
          act: () => new Promise((_, reject) => setTimeout(() => reject(new Error("failed at last")), 1_500)),
          compensate: ({ sagaId }) => ledger.write(sagaId, "undo b"),
          timeout: "100ms",
          retry: { attempts: 1 },
        }),
      meddle: async (o) => (
        await o.result(),
        await o.shows(({ status }) => status === "FAILED"),
        ["stalled"]
      ),
    },
    "takes-too-long": {
      saga: saga("takes-too-long", nothing)
        .step("a", calm("a"))
        .step("b", { act: endless("b"), timeout: "100ms", retry: QUICK }),
    },
  };
}
