import { describe, expect, it } from "vitest";
import {
  ACTIVE,
  deadLetterMachine,
  deliveryMachine,
  jobMachine,
  OPEN,
  ROUTED,
  subscriptionMachine,
  WAITING,
} from "../../../src/core/delivery/machine.ts";

/** Every state and every event of a machine, with where it leads. */
function matrix(of: {
  readonly states: readonly string[];
  readonly events: readonly string[];
  readonly target: (state: never, event: never) => string | undefined;
}): string[] {
  return of.states.flatMap((state) =>
    of.events.map((event) => `${state} ${event} ${of.target(state as never, event as never) ?? "-"}`),
  );
}

describe("the machine of deliveries", () => {
  it("[W-03] has the arrows of its source, and no other", () => {
    expect(matrix(deliveryMachine)).toEqual([
      "Pending createJob InProgress",
      "Pending succeed -",
      "Pending fail -",
      "Pending exhaust -",
      "InProgress createJob -",
      "InProgress succeed Completed",
      "InProgress fail PendingRetry",
      "InProgress exhaust DeadLettered",
      "PendingRetry createJob InProgress",
      "PendingRetry succeed -",
      "PendingRetry fail -",
      "PendingRetry exhaust DeadLettered",
      "Completed createJob -",
      "Completed succeed -",
      "Completed fail -",
      "Completed exhaust -",
      "DeadLettered createJob -",
      "DeadLettered succeed -",
      "DeadLettered fail -",
      "DeadLettered exhaust -",
    ]);
    expect(deliveryMachine.terminal).toEqual(["Completed", "DeadLettered"]);
    expect([WAITING, OPEN]).toEqual([
      ["Pending", "PendingRetry"],
      ["Pending", "InProgress", "PendingRetry"],
    ]);
  });

  it("[W-05] jobs are leased, leased again or given back, and end once", () => {
    expect(matrix(jobMachine).filter((line) => !line.endsWith("-"))).toEqual([
      "Pending lease Leased",
      "Leased lease Leased",
      "Leased release Pending",
      "Leased complete Completed",
      "Leased fail Failed",
    ]);
    expect(ACTIVE).toEqual(["Pending", "Leased"]);
    expect(jobMachine.terminal).toEqual(["Completed", "Failed"]);
  });

  it("[W-19] a subscription can be paused, disabled and enabled, and is deleted for good", () => {
    expect(matrix(subscriptionMachine).filter((line) => !line.endsWith("-"))).toEqual([
      "Active pause Paused",
      "Active disable Disabled",
      "Active delete Deleted",
      "Paused disable Disabled",
      "Paused delete Deleted",
      "Paused enable Active",
      "Disabled delete Deleted",
      "Disabled enable Active",
    ]);
    expect(ROUTED).toEqual(["Active", "Paused"]);
  });

  it("[W-12] a dead letter is settled once", () => {
    expect(deadLetterMachine.terminal).toEqual(["Requeued", "Dismissed"]);
    expect(deadLetterMachine.sources("requeue")).toEqual(["Open"]);
  });
});
