/** A process with a worker: it works until it is killed or told to stop, and says when it has made enough calls. */
import { Amends, type Middleware } from "amends";
import { Effects, recorder } from "../support/effects.ts";
import { CROWD_LEASE_MS, parcel } from "./crowd.ts";
import { openPlace, type Place } from "./place.ts";

export interface CrowdOrders {
  readonly place: Place;
  readonly concurrency: number;
  /** After so many calls it reports, once. */
  readonly callsEnough: number;
}

const { place, concurrency, callsEnough } = JSON.parse(process.argv[2] as string) as CrowdOrders;
let calls = 0;
const count: Middleware = (_, next) => {
  calls++;
  if (calls === callsEnough) process.send?.({ kind: "enough" });
  return next();
};
const amends = new Amends({
  database: await openPlace(place, 3),
  sagas: [parcel],
  lease: CROWD_LEASE_MS,
  middleware: [recorder(new Effects(place.effects)), count],
});
const worker = amends.worker({ concurrency, poll: 100 });
await worker.start();
process.once("message", () => {
  void amends.close().then(() => process.exit(0));
});
