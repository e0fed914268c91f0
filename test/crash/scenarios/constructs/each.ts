/** Sagas that act once for each item of a list. */
import { err, saga } from "amends";
import { anything, type Scenario } from "../scenario.ts";
import type { World } from "../../external-world/world.ts";
import { nothing, runToEnd, soon } from "./run-to-end.ts";

/** Every time it is asked for, the list is another one: a list that is computed again is noticed. */
function newList(world: World): readonly string[] {
  const time = world.ask("list");
  return ["a", "b", "c"].map((item) => `${item}${time}`);
}

const each: Scenario = {
  name: "each",
  title:
    "[S-33][S-07][S-09] a list is computed once, and each item is acted on under its own key until it has its one result",
  ends: ["COMPLETED"],
  isTimed: true,
  workload(world) {
    const order = saga("order", anything, { retry: soon })
      .step("quote", { act: nothing, compensate: nothing })
      .each("reserve", {
        over: () => newList(world),
        key: (item) => item,
        act: (call) => {
          if (call.itemKey.startsWith("b")) world.failFirst(1, call);
          return `r-${call.itemKey}`;
        },
        compensate: nothing,
        concurrency: 2,
      })
      .step("ship", {
        act: ({ results }) => {
          const [first, ...others] = results.reserve.map(({ key, result }) => `${key} ${result}`);
          const list = (first as string).slice(1, first?.indexOf(" "));
          const due = ["a", "b", "c"].map((item) => `${item}${list} r-${item}${list}`);
          if ([first, ...others].join() !== due.join()) throw new Error(`the list is ${others.join()}`);
        },
      });
    return { sagas: [order], run: runToEnd(order) };
  },
};

const eachFailed: Scenario = {
  name: "each-failed",
  title:
    "[S-33][S-10][S-11][S-06] items that are done or in doubt are undone in reverse once one has failed, and no other item begins",
  ends: ["FAILED"],
  isTimed: true,
  workload(world) {
    const order = saga("order", anything, { retry: soon, compensateRetry: soon })
      .step("quote", { act: nothing, compensate: nothing })
      .each("reserve", {
        over: () => newList(world),
        key: (item) => item,
        act: (call) => (call.itemKey.startsWith("c") ? err("sold-out") : call.itemKey),
        compensate: (call) => {
          if (call.itemKey.startsWith("a")) world.failFirst(1, call);
        },
        concurrency: 2,
      })
      .step("ship", { act: nothing });
    return { sagas: [order], run: runToEnd(order) };
  },
};

export const lists: readonly Scenario[] = [each, eachFailed];
