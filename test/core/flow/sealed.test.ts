import fc from "fast-check";
import { expect, it } from "vitest";
import { deliveryId, isUuid, sealOf } from "../../../src/core/flow/sealed.ts";

it("[F-17] the id of a delivery is the same for the same event and handler, and another for any other", () => {
  fc.assert(
    fc.property(
      fc.uuid({ version: 7 }),
      fc.string({ minLength: 1 }),
      fc.string({ minLength: 1 }),
      (event, one, other) => {
        const id = deliveryId(event, one);
        expect(isUuid(id)).toBe(true);
        expect(id).toBe(deliveryId(event, one));
        expect(id.slice(0, 28)).toBe(event.slice(0, 28));
        if (one === other) return;
        // The last 32 bits: two names agree once in four thousand million.
        expect(deliveryId(event, other)).not.toBe(id);
      },
    ),
  );
});

it("[F-02] only what `event(…)` has made is an event", () => {
  for (const nothing of [undefined, null, 7, "x", {}, { type: "A" }]) expect(sealOf(nothing)).toBeUndefined();
});
