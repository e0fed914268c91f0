/** Stories in which the process dies: each kills its own, once, in the middle of a call. */
import { setImmediate } from "node:timers/promises";
import { err, saga } from "../../../src/index.ts";
import { z } from "zod";
import type { Ledger } from "./ledger.ts";
import { stepsOn } from "./steps.ts";
import type { Stories } from "./stories.ts";

const nothing = z.object({});

export function dyingStories(ledger: Ledger): Stories {
  const { calm, refused } = stepsOn(ledger);
  /** The process dies after the first effect of this name. */
  const deadly =
    <Result>(name: string, then: () => Result) =>
    ({ sagaId, attempt }: { readonly sagaId: string; readonly attempt: number }): Result => {
      ledger.write(sagaId, name);
      if (ledger.count(sagaId, name) === 1) process.kill(process.pid, "SIGKILL");
      ledger.write(sagaId, `${name} at try ${attempt}`);
      return then();
    };
  const undo = (name: string) => calm(name).compensate;
  return {
    "dies-in-the-middle": {
      saga: saga("dies-in-the-middle", nothing)
        .step("a", calm("a"))
        .step("b", calm("b"))
        .step("c", { act: deadly("c", () => "c done"), compensate: undo("c") })
        .step("d", calm("d"))
        .step("e", { act: refused("e") }),
    },
    "dies-and-is-refused": {
      saga: saga("dies-and-is-refused", nothing)
        .step("a", calm("a"))
        .step("b", { act: deadly("b", () => err("no")), compensate: undo("b") }),
    },
    "dies-in-an-undo": {
      saga: saga("dies-in-an-undo", nothing)
        .step("a", calm("a"))
        .step("b", { act: calm("b").act, compensate: deadly("undo b", () => undefined) })
        .step("c", { act: refused("c") }),
    },
    "dies-in-its-pivot": {
      saga: saga("dies-in-its-pivot", nothing)
        .step("a", calm("a"))
        .pivot("charge", { act: deadly("charge", () => err("no")) }),
    },
    "dies-after-a-sleep": {
      saga: saga("dies-after-a-sleep", nothing)
        .sleep("night", "1500ms")
        .step("b", { act: deadly("b", () => "b done"), compensate: undo("b") })
        .step("c", { act: refused("c"), compensate: undo("c") }),
    },
    "dies-in-a-group": {
      saga: saga("dies-in-a-group", nothing)
        .parallel("both", (group) =>
          group.step("left", { act: deadly("left", () => 1) }).step("right", {
            // It has not ended when the process dies.
            act: async ({ sagaId }) => {
              while (ledger.count(sagaId, "left") < 2) await setImmediate();
            },
          }),
        )
        .step("last", { act: ({ results }) => results }),
    },
  };
}
