import { Amends, saga } from "amends";
import { sagaDiagram } from "amends/sagas";
import { sqlite, transaction } from "amends/sqlite";
import { expect, it } from "vitest";
import { z } from "zod";

const nothing = z.object({});
const act = (): number => 1;

/** What a program in plain JavaScript may do: the compiler would refuse most of what follows. */
interface Loose {
  step(name: unknown, options?: unknown): Loose;
  pivot(name: unknown, options?: unknown): Loose;
  sleep(name: unknown, duration?: unknown): Loose;
  waitFor(name: unknown, options?: unknown): Loose;
  parallel(name: unknown, build?: unknown, options?: unknown): Loose;
}
const loose = (): Loose => saga("loose", nothing) as unknown as Loose;
const bad = (message: RegExp): unknown =>
  expect.objectContaining({ code: "BAD_DEFINITION", message: expect.stringMatching(message) as unknown });
const pair = (group: Loose): Loose => group.step("a", { act }).step("b", { act });

it("[S-24][S-01] a name twice is refused: of a step, of a group, and of one for the other", () => {
  expect(() => loose().step("a", { act }).parallel("g", pair)).toThrow(bad(/step a: .*already a step/));
  expect(() => loose().parallel("g", (group: Loose) => pair(pair(group)))).toThrow(
    bad(/step a: .*already a step/),
  );
  expect(() => loose().parallel("g", pair).step("b", { act })).toThrow(bad(/step b: .*already a step/));
  expect(() => loose().parallel("g", pair).step("g", { act })).toThrow(bad(/step g: .*already a group/));
  expect(() => loose().parallel("g", pair).parallel("g", pair)).toThrow(bad(/already a group/));
  expect(() => loose().step("g", { act }).parallel("g", pair)).toThrow(bad(/already a step/));
  expect(() => loose().parallel("a", pair)).toThrow(bad(/group a: a step cannot have the name of its group/));
  expect(() => loose().parallel("two words", pair)).toThrow(bad(/letters, digits/));
});

it("[S-24] what cannot stand in a group is refused when it is defined, and the message says what to do", () => {
  const inGroup = (build: (group: Loose) => unknown) => () => loose().parallel("g", build);
  expect(inGroup((group) => group.pivot("p", { act }))).toThrow(
    bad(/group g: the pivot cannot stand in a group/),
  );
  expect(inGroup((group) => group.sleep("s", "1s"))).toThrow(bad(/a sleep cannot stand in a group: put it/));
  expect(inGroup((group) => group.waitFor("w", {}))).toThrow(bad(/a wait cannot stand in a group: put it/));
  expect(inGroup((group) => group.parallel("h", pair))).toThrow(bad(/a group cannot stand in a group/));
  expect(inGroup((group) => group.step("a", { act, transaction }))).toThrow(
    bad(/step a cannot be transactional: put it before or after/),
  );
  expect(inGroup((group) => group.step("a", { act, fallback: { name: "b", act } }))).toThrow(
    bad(/step a cannot have a fallback: put it before or after/),
  );
  expect(inGroup((group) => group)).toThrow(bad(/it has no steps/));
  expect(inGroup(() => undefined)).toThrow(bad(/must return the group/));
  expect(inGroup(async (group) => pair(group))).toThrow(bad(/must return the group/));
  expect(() => loose().parallel("g")).toThrow(bad(/give it a function/));
  expect(() => loose().parallel("g", pair, { concurrency: 0 })).toThrow(
    bad(/concurrency must be a whole number, 1/),
  );
  expect(() => loose().parallel("g", pair, { atOnce: 2 })).toThrow(
    expect.objectContaining({ message: expect.stringMatching(/atOnce/) as unknown }),
  );
  expect(() =>
    loose()
      .pivot("p", { act })
      .parallel("g", (group: Loose) => group.step("a", { act, compensate: act })),
  ).toThrow(bad(/only goes forward/));
});

it("[S-24][S-30] the plan says which steps act together, and how many at once", async () => {
  const trip = saga("trip", nothing)
    .step("quote", { act })
    .parallel("bookings", (group) => group.step("flight", { act }).step("hotel", { act }), {
      concurrency: 2,
    });
  expect(trip.plan.map(({ group }) => group)).toEqual([
    undefined,
    { name: "bookings", limit: 2 },
    { name: "bookings", limit: 2 },
  ]);
  const amends = new Amends({ database: sqlite(":memory:"), sagas: [trip] });
  await amends.migrate();
  const { id } = await amends.start(trip, {});
  expect((await amends.inspect(id))?.plan).toEqual(trip.plan);
  await amends.close();
});

const trip = saga("trip", nothing)
  .step("quote", { act, compensate: act })
  .parallel(
    "bookings",
    (group) => group.step("flight", { act, compensate: act }).step("hotel", { act, compensate: act }),
    { concurrency: 2 },
  )
  .pivot("pay", { act })
  .parallel("news", (group) => group.step("mail", { act }).step("letter", { act }));

it("[S-24][S-31] the sequence diagram shows what happens at the same time", () => {
  expect(sagaDiagram(trip)).toMatchInlineSnapshot(`
    "sequenceDiagram
      participant S as trip
      participant P0 as quote
      participant P1 as flight
      participant P2 as hotel
      participant P3 as pay
      participant P4 as mail
      participant P5 as letter
      S->>P0: act quote
      par bookings, at most 2 at once
        S->>P1: act flight
      and
        S->>P2: act hotel
      end
      S->>P3: act pay
      Note over S,P3: pivot, from here only forward
      par news, all at once
        S->>P4: act mail
      and
        S->>P5: act letter
      end
      alt a step fails before the pivot
        S->>P2: undo hotel
        S->>P1: undo flight
        S->>P0: undo quote
      end
    "
  `);
});

it("[S-24][S-31] the state diagram shows a group as one state, which goes on or back as a whole", () => {
  expect(sagaDiagram(trip, "state")).toMatchInlineSnapshot(`
    "stateDiagram-v2
      [*] --> act_0
      act_0: quote
      act_0 --> group_1
      act_0 --> undo_0: fails
      state "bookings, at most 2 at once" as group_1 {
        [*] --> act_1
        act_1: flight
        act_1 --> [*]
        --
        [*] --> act_2
        act_2: hotel
        act_2 --> [*]
      }
      group_1 --> act_3
      group_1 --> undo_2: fails
      act_3: pay (pivot)
      act_3 --> group_4
      act_3 --> undo_2: fails
      state "news, all at once" as group_4 {
        [*] --> act_4
        act_4: mail
        act_4 --> [*]
        --
        [*] --> act_5
        act_5: letter
        act_5 --> [*]
      }
      group_4 --> COMPLETED
      group_4 --> STALLED: fails
      undo_0: undo quote
      undo_0 --> FAILED
      undo_0 --> STALLED: tries used up
      undo_1: undo flight
      undo_1 --> undo_0
      undo_1 --> STALLED: tries used up
      undo_2: undo hotel
      undo_2 --> undo_1
      undo_2 --> STALLED: tries used up
      COMPLETED --> [*]
      FAILED --> [*]
    "
  `);
});
