/** Sagas with steps that act at the same time. Which of them ends first decides what is written together. */
import { err, saga } from "amends";
import { anything, ID, type Scenario } from "../scenario.ts";

const nothing = (): void => undefined;

const together: Scenario = {
  name: "together",
  title:
    "[S-24][S-09][S-29] of steps that act at the same time, those with a result are not repeated, and the others are called by their own keys",
  ends: ["COMPLETED"],
  isTimed: true,
  play(world) {
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

const fallenApart: Scenario = {
  name: "fallen-apart",
  title:
    "[S-24][S-06][S-10][S-11] where one of several steps that act at the same time fails, all that may have happened is undone, after it has ended",
  ends: ["FAILED"],
  isTimed: true,
  play(world) {
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

export const acting: readonly Scenario[] = [together, fallenApart];
