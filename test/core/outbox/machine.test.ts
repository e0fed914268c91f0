import { describe, expect, it } from "vitest";
import {
  BLOCKING,
  CLAIMABLE,
  HELD,
  outboxMachine,
  settled,
  SETTLES,
  type OutboxEvent,
  type OutboxStatus,
} from "../../../src/core/outbox/machine.ts";

/** Every arrow that there is. Whatever is not here must be refused. */
const ARROWS: readonly (readonly [OutboxStatus, OutboxEvent, OutboxStatus])[] = [
  ["pending", "claim", "in_flight"],
  ["failed", "claim", "in_flight"],
  ["scheduled", "claim", "in_flight"],
  ["in_flight", "claim", "in_flight"],
  ["in_flight", "release", "pending"],
  ["in_flight", "verify", "in_flight"],
  ["in_flight", "succeed", "succeeded"],
  ["in_flight", "fail", "failed"],
  ["in_flight", "park", "scheduled"],
  ["in_flight", "abandon", "abandoned"],
  ["abandoned", "requeue", "pending"],
  ["abandoned", "resolve", "succeeded"],
  ["pending", "supersede", "superseded"],
  ["in_flight", "supersede", "superseded"],
  ["failed", "supersede", "superseded"],
  ["scheduled", "supersede", "superseded"],
  ["abandoned", "supersede", "superseded"],
];

describe("the machine of an outbox entry", () => {
  it.each(
    outboxMachine.states.flatMap((state) => outboxMachine.events.map((event) => [state, event] as const)),
  )("[K-14] %s on %s goes where the table says, and nowhere else", (state, event) => {
    const arrow = ARROWS.find(([from, on]) => from === state && on === event);
    expect(outboxMachine.target(state, event)).toBe(arrow?.[2]);
  });

  it("[O-03] the statuses are those of the source, and superseded", () => {
    expect(outboxMachine.states.toSorted()).toEqual([
      "abandoned",
      "failed",
      "in_flight",
      "pending",
      "scheduled",
      "succeeded",
      "superseded",
    ]);
    expect(outboxMachine.terminal).toEqual(["succeeded", "superseded"]);
  });

  it("[K-03] due are pending, failed, scheduled and in flight; only what is done with no longer blocks", () => {
    expect(CLAIMABLE.toSorted()).toEqual(["failed", "in_flight", "pending", "scheduled"]);
    expect(BLOCKING.toSorted()).toEqual(["abandoned", "failed", "in_flight", "pending", "scheduled"]);
  });

  it("[K-06] a claim can be settled only where it is held, whichever way", () => {
    expect(HELD).toEqual(["in_flight"]);
    for (const event of SETTLES) expect(settled(event)).toBe(outboxMachine.target("in_flight", event));
  });
});
