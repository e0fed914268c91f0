import { err, ok, saga } from "amends";
import type { ForwardGroup, StepGroup } from "amends/sagas";
import { transaction } from "amends/sqlite";
import { expectTypeOf, it } from "vitest";
import { z } from "zod";

const nothing = z.object({});
const act = (): number => 1;

it("[S-24] the steps after a group see all its results; those in it see what came before, but not each other", () => {
  const trip = saga("trip", z.object({ city: z.string() }))
    .step("quote", { act: () => ({ cents: 7 }) })
    .parallel(
      "bookings",
      (group) =>
        group
          .step("flight", {
            act: ({ input, results }) => {
              expectTypeOf(input).toEqualTypeOf<{ city: string }>();
              expectTypeOf(results.quote.cents).toEqualTypeOf<number>();
              return results.quote.cents > 9 ? err("too-dear") : ok({ seat: input.city });
            },
            compensate: ({ result, results }) => {
              expectTypeOf(result).toEqualTypeOf<{ readonly seat: string } | undefined>();
              expectTypeOf(results.quote).toEqualTypeOf<{ cents: number } | undefined>();
            },
          })
          .step("hotel", {
            act: async ({ results, tx }) => {
              // @ts-expect-error a step that acts at the same time has no result yet
              void results.flight;
              expectTypeOf(tx).toBeUndefined();
              return "suite";
            },
          })
          .step("nothing", { act: () => undefined }),
      { concurrency: 2 },
    )
    .step("mail", {
      act: ({ results }) => {
        expectTypeOf(results.flight).toEqualTypeOf<{ readonly seat: string }>();
        expectTypeOf(results.hotel).toEqualTypeOf<string>();
        expectTypeOf(results.nothing).toEqualTypeOf<undefined>();
        // @ts-expect-error the group's own name is no result
        void results.bookings;
      },
    });
  expectTypeOf<NonNullable<typeof trip.types>["failure"]>().toEqualTypeOf<"too-dear">();
});

it("[S-24] a name that is taken does not compile", () => {
  expectTypeOf(saga("a", nothing).parallel).toBeFunction();
  saga("a", nothing)
    .step("one", { act })
    // @ts-expect-error a group cannot have a step's name
    .parallel("one", (group) => group.step("two", { act }));
  saga("a", nothing)
    .step("one", { act })
    .parallel("both", (group) =>
      group
        .step("two", { act })
        // @ts-expect-error it is in the group already
        .step("two", { act })
        // @ts-expect-error it stands before the group
        .step("one", { act }),
    );
  saga("a", nothing)
    .parallel("both", (group) => group.step("one", { act }).step("two", { act }))
    // @ts-expect-error it stands in the group
    .step("two", { act });
});

it("[S-24] what cannot stand in a group does not compile", () => {
  // No pivot, no sleep, no wait, no group.
  expectTypeOf<keyof StepGroup<object, object, object, never>>().toEqualTypeOf<"step" | "types">();
  expectTypeOf<keyof ForwardGroup<object, object, object, never>>().toEqualTypeOf<"step" | "types">();
  // @ts-expect-error a transactional step
  saga("a", nothing).parallel("g", (given) => given.step("a", { act, transaction }));
  // @ts-expect-error a fallback
  saga("a", nothing).parallel("g", (given) => given.step("a", { act, fallback: { name: "b", act } }));
  // @ts-expect-error nothing
  saga("a", nothing).parallel("g", () => undefined);
  // @ts-expect-error an option that there is not
  saga("a", nothing).parallel("g", (given) => given.step("a", { act }), { atOnce: 2 });
});

it("[S-24][S-22] after the pivot there is nothing to compensate in a group either", () => {
  const order = saga("a", nothing)
    .pivot("pay", { act })
    .parallel("tell", (group) => group.step("mail", { act }).step("stock", { act: () => err("gone") }))
    .step("close", { act: ({ results }) => expectTypeOf(results.mail).toEqualTypeOf<number>() });
  expectTypeOf<NonNullable<typeof order.types>["failure"]>().toEqualTypeOf<"gone">();
  saga("a", nothing)
    .pivot("pay", { act })
    // @ts-expect-error there is nothing to compensate
    .parallel("tell", (group) => group.step("mail", { act, compensate: act }));
});
