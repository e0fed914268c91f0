/** Sagas over events whose steps all succeed, by each way in which an event comes to its handler. */
import { Amends } from "amends";
import { journey, ORDER, Placed } from "../flows.ts";
import type { Scenario } from "../scenario.ts";

const chain: Scenario = {
  name: "flow-chain",
  title:
    "[F-05][F-06][F-07][F-15][F-17] a chain of handlers completes: each step, its event and what it wrote are booked together, once",
  flowEnds: ["completed"],
  play: (world) => journey(world, {}),
};

const failFast: Scenario = {
  name: "flow-hasty",
  title:
    "[F-09][F-17] an event that is published where a worker runs is claimed as it is written, and is finished by whoever is left",
  flowEnds: ["completed"],
  play: (world) =>
    journey(world, {
      // One of them may be kept for a look at the database that is under way.
      concurrency: 2,
      async place({ amends, worker }) {
        await worker.start();
        await amends.events.publish(Placed({ order: ORDER }));
      },
    }),
};

const routed: Scenario = {
  name: "flow-routed",
  title:
    "[F-04][F-14][K-19] an event that was published where nobody takes it is routed once, and begins one run",
  flowEnds: ["completed"],
  play: (world) =>
    journey(world, {
      async place({ database }) {
        const stranger = new Amends({ database, events: [] });
        await stranger.events.publish(Placed({ order: ORDER }));
      },
    }),
};

const retried: Scenario = {
  name: "flow-retried",
  title: "[F-12][F-15] a handler that throws is tried again, and nothing of the try that threw is left",
  flowEnds: ["completed"],
  play: (world) => {
    const twice = (method: string) => (call: { readonly key: string }) => {
      if (world.visits.calls(call.key, method) <= 1) throw new Error("not now");
      return true;
    };
    return journey(world, { wills: { reserve: twice("handle"), charge: twice("handle") } });
  },
};

const outpaced: Scenario = {
  name: "flow-overtaken",
  title: "[K-06][F-08] a worker that lost its delivery changes nothing while its successor is still at work",
  flowEnds: ["completed"],
  overlaps: true,
  play: (world) => journey(world, {}),
};

export const flowForward: readonly Scenario[] = [chain, failFast, routed, retried, outpaced];
