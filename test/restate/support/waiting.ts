/** Stories of sagas that wait: for time, for signals, for the first of several. */
import { saga, signal, type SagaView } from "../../../src/index.ts";
import { z } from "zod";
import type { Ledger } from "./ledger.ts";
import { stepsOn } from "./steps.ts";
import { NOTE, type Stories } from "./stories.ts";

const nothing = z.object({});
const approved = signal("approved", z.object({ by: z.string() }));

export function waitingStories(ledger: Ledger): Stories {
  const { calm, endless, refused } = stepsOn(ledger);
  return {
    sleeps: {
      saga: saga("sleeps", nothing)
        .step("a", calm("a"))
        .sleep("nap", "200ms")
        .sleep("night", "1500ms")
        .step("b", { act: ({ sagaId, attempt }) => ledger.write(sagaId, `b ${attempt}`) }),
    },
    "is-refused-after-a-sleep": {
      saga: saga("is-refused-after-a-sleep", nothing)
        .sleep("night", "1500ms")
        .step("b", { act: refused("b"), compensate: ({ sagaId }) => ledger.write(sagaId, "undo b") }),
    },
    "gets-a-signal": {
      saga: saga("gets-a-signal", nothing)
        .step("a", calm("a"))
        .waitFor("approval", { signal: approved })
        .step("b", { act: ({ results }) => results.approval.by }),
      meddle: async ({ shows, signal: send }) => {
        await shows(isWaiting);
        return [await send(approved, { by: "ann" }, "one"), await send(approved, { by: "bob" }, "one")];
      },
    },
    "gets-an-early-signal": {
      saga: saga("gets-an-early-signal", nothing)
        .step("a", {
          act: endless("a"),
          timeout: "500ms",
          retry: { attempts: 1 },
          fallback: { name: "b", ...calm("b") },
        })
        .waitFor("approval", { signal: approved }),
      meddle: async (o) => (await o.did("a"), o.signal(approved, { by: "ann" })),
    },
    "gets-no-signal": {
      saga: saga("gets-no-signal", nothing)
        .step("a", calm("a"))
        .waitFor("approval", { signal: approved, timeout: "1500ms" }),
    },
    "goes-on-without-a-signal": {
      saga: saga("goes-on-without-a-signal", nothing)
        .waitFor("approval", { signal: approved, timeout: "1500ms", onTimeout: "continue" })
        .step("b", calm("b")),
    },
    "takes-the-first-of-several": {
      saga: saga("takes-the-first-of-several", nothing)
        .waitFor("decision", { any: { approved: { signal: approved }, late: "1500ms" } })
        .step("b", { act: ({ results }) => results.decision.which }),
    },
    "is-cancelled-while-it-waits": {
      saga: saga("is-cancelled-while-it-waits", nothing)
        .step("a", calm("a"))
        .waitFor("approval", { signal: approved }),
      meddle: async (o) => (await o.shows(isWaiting), o.cancel(NOTE)),
    },
    "repeats-until-a-signal": {
      saga: saga("repeats-until-a-signal", nothing).repeat("remind", {
        act: ({ sagaId, round }) => ledger.write(sagaId, `remind ${round}`),
        until: { signal: approved },
        every: "10m",
        max: 9,
      }),
      meddle: async (o) => (await o.shows(isWaiting), o.signal(approved, { by: "ann" })),
    },
  };
}

function isWaiting({ waiting }: SagaView): boolean {
  return waiting !== undefined;
}
