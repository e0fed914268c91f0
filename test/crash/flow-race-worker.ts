/** One of several processes that work on the same orders: it works until it is told to stop. */
import { Amends } from "amends";
import { Visits } from "../support/visits.ts";
import { crowdOf, FLOW_CROWD_LEASE_MS, openRoad } from "./flow-crowd.ts";
import { openPlace, type Place } from "./place.ts";
import { rolesOf } from "./scenario.ts";

export interface RaceOrders {
  readonly place: Place;
}

const { place } = JSON.parse(process.argv[2] as string) as RaceOrders;
const database = await openPlace(place, 3);
const visits = new Visits(`${place.effects}.visits`);
const roles = rolesOf(crowdOf(openRoad(database, visits)));
const amends = new Amends({ database, ...roles, lease: FLOW_CROWD_LEASE_MS });
await amends.worker({ concurrency: 8, poll: 30 }).start();
process.send?.({ kind: "started" });
process.once("message", () => {
  void amends.close().then(() => process.exit(0));
});
