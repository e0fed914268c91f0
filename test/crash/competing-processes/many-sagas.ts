/** Many small sagas for several processes at once. */
import { saga } from "amends";
import { anything } from "../scenarios/scenario.ts";

export const LEASE_MS = 1_000;

const STEPS = ["reserve", "charge", "ship"] as const;

/** A call of 2 ms, so that a process is killed while many calls run. */
const shortCall = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 2));

export const parcel = saga("parcel", anything, { recoveries: 20 })
  .step(STEPS[0], { act: shortCall, compensate: shortCall })
  .step(STEPS[1], { act: shortCall, compensate: shortCall })
  .step(STEPS[2], { act: shortCall });
