/** `prove` on a saga whose steps act at the same time. */
import { err, saga, type SagaDefinition } from "amends";
import { prove } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { Ledger, soon } from "./support/shop.ts";

const patient = { timeout: 180_000 };
const nothing = z.object({});

interface Agency {
  readonly flights: Ledger;
  readonly hotels: Ledger;
  readonly cars: Ledger;
  readonly paid: Ledger;
}

const open = (): Agency => ({
  flights: new Ledger(),
  hotels: new Ledger(),
  cars: new Ledger(),
  paid: new Ledger(),
});

const trip =
  (leaveHotel = false) =>
  (agency: Agency): SagaDefinition<object, object, Record<string, unknown>, string> =>
    saga("trip", nothing, { deadline: "2h", ...soon })
      .parallel(
        "bookings",
        (group) =>
          group
            .step("flight", {
              act: async ({ key }) => agency.flights.do(key),
              compensate: ({ actKey }) => agency.flights.takeBack(actKey),
            })
            .step("hotel", {
              act: async ({ key }) => (key === "" ? err("full") : agency.hotels.do(key)),
              compensate: ({ actKey, result }) => {
                if (!leaveHotel || result) agency.hotels.takeBack(actKey);
              },
              timeout: "30s",
            })
            .step("car", {
              act: ({ key }) => agency.cars.do(key),
              compensate: ({ actKey }) => agency.cars.takeBack(actKey),
            }),
        { concurrency: 2 },
      )
      .pivot("pay", { act: ({ key }) => agency.paid.do(key) });

const isFair = ({ flights, hotels, cars, paid }: Agency): boolean =>
  [flights, hotels, cars].every(({ total }) => total === paid.total);

it(
  "[S-24][T-02] a saga with a group that is right passes every crash, failure and timeout",
  patient,
  async () => {
    const options = { input: {}, world: open, invariant: isFair, errs: { hotel: "full" } };
    const report = await prove(trip(), options);
    expect(report).toMatchObject({ leftOut: 0, failures: [], withoutUndo: [] });
    expect(report.schedules).toBeGreaterThan(100);
  },
);

it("[S-24][T-02] an undo in a group that needs a result is found where there is none", patient, async () => {
  const options = { input: {}, world: open, invariant: isFair, schedules: 80, report: true };
  const { failures } = await prove(trip(true), options);
  expect(failures.map(({ seed }) => seed)).toContain("lost-always@hotel");
  expect(failures.every(({ seed }) => seed.includes("@hotel") || seed.includes("crash"))).toBe(true);
});
