/** Many small sagas for several processes at once. */
import { saga } from "amends";
import { anything } from "./scenario.ts";

export const CROWD_LEASE_MS = 1_000;

const STEPS = ["reserve", "charge", "ship"] as const;

/** A call that takes a moment, so that a process is killed in the middle of many. */
const briefly = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 2));

export const parcel = saga("parcel", anything, { recoveries: 20 })
  .step(STEPS[0], { act: briefly, compensate: briefly })
  .step(STEPS[1], { act: briefly, compensate: briefly })
  .step(STEPS[2], { act: briefly });
