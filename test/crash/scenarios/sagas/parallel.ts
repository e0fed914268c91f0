/** Sagas with parallel steps. The order in which the steps end decides which outcomes share a commit. */
import { err, saga } from "amends";
import { anything, ID, type Scenario } from "../scenario.ts";

const nothing = (): void => undefined;

const parallelCompleted: Scenario = {
  name: "parallel",
  title:
    "[S-24][S-09][S-29] of parallel steps, those with a result are not repeated, and the others are called with their own keys",
  ends: ["COMPLETED"],
  isTimed: true,
  workload(world) {
    const trip = saga("trip", anything, { retry: { attempts: 4, base: 10, cap: 10 } })
      .step("quote", { act: () => 7, compensate: nothing })
      .parallel(
        "bookings",
        (group) =>
          group
            .step("flight", { act: (call) => (world.emit(call, "flown"), "F"), compensate: nothing })
            .step("hotel", { act: (call) => (world.failFirst(1, call), "H"), compensate: nothing })
            .step("car", { act: () => "C", compensate: nothing })
            .step("bus", { act: (call) => (world.emit(call, "bussed"), "B") }),
        { concurrency: 2 },
      )
      .step("mail", {
        act: ({ results: { quote, flight, hotel, car, bus } }) => {
          if (`${quote}${flight}${hotel}${car}${bus}` !== "7FHCB") throw new Error("a result was lost");
        },
      });
    return {
      sagas: [trip],
      async run({ amends, worker }) {
        await worker.start();
        await (await amends.start(trip, {}, { id: ID })).result();
      },
    };
  },
};

const parallelFailed: Scenario = {
  name: "parallel-failed",
  title:
    "[S-24][S-06][S-10][S-11] if one of several parallel steps fails, every step that may have happened is undone after all calls have ended",
  ends: ["FAILED"],
  isTimed: true,
  workload(world) {
    const trip = saga("trip", anything).parallel(
      "bookings",
      (group) =>
        group
          .step("flight", { act: () => "F", compensate: (call) => world.emit(call, "grounded") })
          .step("hotel", { act: () => err("full"), compensate: nothing })
          .step("car", { act: () => "C", compensate: nothing })
          .step("bus", { act: () => "B", compensate: nothing }),
      { concurrency: 3 },
    );
    return {
      sagas: [trip],
      async run({ amends, worker }) {
        await worker.start();
        await (await amends.start(trip, {}, { id: ID })).result();
      },
    };
  },
};

export const parallel: readonly Scenario[] = [parallelCompleted, parallelFailed];
