/** Sagas that act in rounds. */
import { err, saga, signal, type Amends } from "amends";
import { anything, ID, type Scenario } from "../scenario.ts";
import { nothing, runToEnd, soon } from "./run-to-end.ts";

const paid = signal("paid", anything);

const rounds: Scenario = {
  name: "repeat",
  title:
    "[S-35][S-09] rounds have keys of their own, the wait between two is durable, and a signal ends them at once wherever the process crashes",
  ends: ["COMPLETED"],
  workload(world) {
    let peer: Amends | undefined;
    const order = saga("order", anything, { retry: soon })
      .repeat("poll", {
        act: (call) => (world.failFirst(1, call), call.round),
        until: ({ result }) => result === 2,
        every: 1_050,
        max: 5,
        compensate: nothing,
      })
      .repeat("remind", {
        act: async ({ key }) => void (await peer?.signal(ID, paid, { cents: 7 }, { id: key })),
        until: { signal: paid },
        every: "1h",
        max: 3,
        compensate: nothing,
      })
      .step("ship", {
        act: ({ results: { poll, remind } }) => {
          const got = JSON.stringify([poll.done, poll.rounds, remind.done && remind.received]);
          if (got !== '[true,2,{"cents":7}]') throw new Error(`the rounds came to ${got}`);
        },
      });
    return { sagas: [order], onAmends: (amends) => void (peer = amends), run: runToEnd(order) };
  },
};

const roundsFailed: Scenario = {
  name: "repeat-failed",
  title:
    "[S-35][S-10][S-11] the one undo of rounds knows how many have begun, the one in doubt included, and comes after all of them",
  ends: ["FAILED"],
  workload(world) {
    const order = saga("order", anything, { compensateRetry: soon })
      .step("quote", { act: nothing, compensate: nothing })
      .repeat("poll", {
        act: ({ round }) => (round === 3 ? err("expired") : round),
        until: () => false,
        every: 10,
        max: 5,
        compensate: (call) => {
          const begun = [1, 2, 3].filter((round) => world.effects.countCalls(call.actKey(round)) > 0).length;
          if (call.rounds < begun)
            throw new Error(`${begun} rounds have begun, the undo knows ${call.rounds}`);
          world.failFirst(1, call);
        },
      });
    return { sagas: [order], run: runToEnd(order) };
  },
};

export const repeated: readonly Scenario[] = [rounds, roundsFailed];
