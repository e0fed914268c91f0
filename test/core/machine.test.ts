import { describe, expect, expectTypeOf, it } from "vitest";
import {
  deadLetterMachine,
  deliveryMachine,
  jobMachine,
  subscriptionMachine,
} from "../../src/core/delivery/machine.ts";
import { flowMachine } from "../../src/core/flow/machine.ts";
import { machine, machineDiagram, type EventOf, type StateOf } from "../../src/core/machine.ts";
import { outboxMachine } from "../../src/core/outbox/machine.ts";
import { CLAIMABLE, sagaMachine, type SagaStatus } from "../../src/core/saga/machine.ts";

/** Written out by hand, so that a change of the table is a change of two places. */
const ARROWS: Readonly<Record<SagaStatus, Partial<Record<string, SagaStatus>>>> = {
  PENDING: { begin: "RUNNING", fail: "FAILED", stall: "STALLED" },
  RUNNING: { complete: "COMPLETED", turn: "COMPENSATING", fail: "FAILED", stall: "STALLED" },
  COMPENSATING: { fail: "FAILED", stall: "STALLED" },
  STALLED: { begin: "RUNNING", turn: "COMPENSATING", complete: "COMPLETED", fail: "FAILED" },
  COMPLETED: {},
  FAILED: {},
};

describe("the machine of step sagas", () => {
  it("[K-14] every pair of state and event is either defined or refused", () => {
    expect(sagaMachine.events.toSorted()).toEqual(["begin", "complete", "fail", "stall", "turn"]);
    for (const state of sagaMachine.states) {
      for (const event of sagaMachine.events) {
        expect([state, event, sagaMachine.target(state, event)]).toEqual([
          state,
          event,
          ARROWS[state][event],
        ]);
      }
    }
  });

  it("[K-14] the guard of an event is exactly the states that have its arrow", () => {
    for (const event of sagaMachine.events) {
      const expected = sagaMachine.states.filter((state) => ARROWS[state][event] !== undefined);
      expect([event, sagaMachine.sources(event)]).toEqual([event, expected]);
    }
  });

  it("[K-14] between two states there is an arrow only where the table has one", () => {
    for (const from of sagaMachine.states) {
      for (const to of sagaMachine.states) {
        const event = Object.entries(ARROWS[from]).find(([, target]) => target === to)?.[0];
        expect([from, to, sagaMachine.arrow(from, to)]).toEqual([from, to, event]);
      }
    }
  });

  it("[K-13] COMPLETED and FAILED are where nothing leaves, and nothing else is", () => {
    expect(sagaMachine.terminal).toEqual(["COMPLETED", "FAILED"]);
    for (const state of sagaMachine.states) {
      expect(sagaMachine.isTerminal(state)).toBe(state === "COMPLETED" || state === "FAILED");
    }
  });

  it("[K-14] everything begins in the first state of its table", () => {
    const begins = [
      sagaMachine,
      outboxMachine,
      flowMachine,
      deliveryMachine,
      jobMachine,
      subscriptionMachine,
      deadLetterMachine,
    ].map(({ initial }) => initial);
    expect(begins).toEqual(["PENDING", "pending", "running", "Pending", "Pending", "Active", "Open"]);
  });

  it("[K-03] a worker may claim what is open, and neither what has ended nor what waits for a person", () => {
    expect(CLAIMABLE).toEqual(["PENDING", "RUNNING", "COMPENSATING"]);
  });

  it("[S-06] no arrow leads from COMPENSATING forward", () => {
    expect(sagaMachine.arrow("COMPENSATING", "RUNNING")).toBeUndefined();
    expect(sagaMachine.arrow("COMPENSATING", "COMPLETED")).toBeUndefined();
  });

  it("[S-31] the diagram is the table, always the same text", () => {
    const text = machineDiagram(sagaMachine);
    expect(text).toBe(machineDiagram(sagaMachine));
    expect(text.split("\n").slice(0, 4)).toEqual([
      "stateDiagram-v2",
      "  [*] --> PENDING",
      "  PENDING --> RUNNING: begin",
      "  PENDING --> FAILED: fail",
    ]);
    const arrows = Object.values(ARROWS).flatMap((events) => Object.keys(events));
    expect(text.match(/ --> \w+: /g)).toHaveLength(arrows.length);
    expect(text).toContain("  COMPLETED --> [*]\n");
    expect(text).toContain("  FAILED --> [*]\n");
    expect(text.endsWith("\n")).toBe(true);
  });
});

describe("any machine", () => {
  const door = machine({ open: { shut: "closed" }, closed: { pull: "open", lock: "locked" }, locked: {} });

  it("[K-14] begins in the state that its table names first, and throws where there is no arrow", () => {
    expect(door.initial).toBe("open");
    expect(door.move("closed", "lock")).toBe("locked");
    expect(() => door.move("locked", "pull")).toThrow("no arrow for pull in state locked");
  });

  it("[K-14] gives its states and events to the compiler", () => {
    expectTypeOf<StateOf<typeof door>>().toEqualTypeOf<"open" | "closed" | "locked">();
    expectTypeOf<EventOf<typeof door>>().toEqualTypeOf<"shut" | "pull" | "lock">();
    expect(door.states).toEqual(["open", "closed", "locked"]);
    expect(door.events).toEqual(["shut", "pull", "lock"]);
  });

  it("[K-14] an arrow to a state that is not declared does not compile", () => {
    // @ts-expect-error -- `nowhere` is no state of this table
    machine({ open: { shut: "nowhere" } });
    expect(door.target("locked", "pull")).toBeUndefined();
    expect(door.target("closed", "pull")).toBe("open");
  });
});
