/** Event sagas whose steps all succeed, with each way in which an event reaches its handler. */
import { Amends } from "amends";
import { orderWorkload, ORDER, Placed } from "./order-workload.ts";
import type { Scenario } from "../scenario.ts";

const chain: Scenario = {
  name: "flow-chain",
  title:
    "[F-05][F-06][F-07][F-15][F-17] a chain of handlers completes: each step, its event and its writes are committed together, once",
  flowEnds: ["completed"],
  workload: (world) => orderWorkload(world, {}),
};

const claimedOnPublish: Scenario = {
  name: "flow-claimed-on-publish",
  title:
    "[F-09][F-17] an event that is published in a process with a worker is claimed as it is written, and survives the end of that process",
  flowEnds: ["completed"],
  workload: (world) =>
    orderWorkload(world, {
      // A poll that is running may use one of the two slots.
      concurrency: 2,
      async publishOrder({ amends, worker }) {
        await worker.start();
        await amends.events.publish(Placed({ order: ORDER }));
      },
    }),
};

const routed: Scenario = {
  name: "flow-routed",
  title:
    "[F-04][F-14][K-19] an event that is published in a process without handlers is routed once, and begins one run",
  flowEnds: ["completed"],
  workload: (world) =>
    orderWorkload(world, {
      async publishOrder({ database }) {
        const publisher = new Amends({ database, events: [] });
        await publisher.events.publish(Placed({ order: ORDER }));
      },
    }),
};

const retried: Scenario = {
  name: "flow-retried",
  title: "[F-12][F-15] a handler that throws is retried, and the failed attempt leaves no writes",
  flowEnds: ["completed"],
  workload: (world) => {
    const failFirst = (method: string) => (call: { readonly key: string }) => {
      if (world.entryCalls.countCalls(call.key, method) <= 1) throw new Error("not now");
      return true;
    };
    return orderWorkload(world, { behaviors: { reserve: failFirst("handle"), charge: failFirst("handle") } });
  },
};

const overtaken: Scenario = {
  name: "flow-overtaken",
  title: "[K-06][F-08] a worker that lost its delivery changes nothing while its successor still holds it",
  flowEnds: ["completed"],
  overlaps: true,
  workload: (world) => orderWorkload(world, {}),
};

export const flowForward: readonly Scenario[] = [chain, claimedOnPublish, routed, retried, overtaken];
