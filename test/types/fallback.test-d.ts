import { err, ok, saga, type SagaFailure } from "amends";
import { expectTypeOf, it } from "vitest";
import { z } from "zod";

const input = z.object({ cents: z.number() });
const act = (): number => 1;

it("[S-20] a fallback sees what its step sees, and its compensation gets its own result", () => {
  saga("a", input)
    .step("reserve", { act: () => ({ id: 7 }) })
    .step("charge", {
      act: ({ results }) => ({ at: "here" as const, of: results.reserve.id }),
      compensate: ({ result }) =>
        expectTypeOf(result).toEqualTypeOf<{ at: "here"; of: number } | undefined>(),
      fallback: {
        name: "charge-elsewhere",
        act: (context) => {
          expectTypeOf(context.input).toEqualTypeOf<{ cents: number }>();
          expectTypeOf(context.results).toEqualTypeOf<{ readonly reserve: { id: number } }>();
          return { there: context.results.reserve.id };
        },
        compensate: ({ result, results, actKey }) => {
          expectTypeOf(result).toEqualTypeOf<{ there: number } | undefined>();
          expectTypeOf(results.reserve).toEqualTypeOf<{ id: number } | undefined>();
          expectTypeOf(actKey).toEqualTypeOf<string>();
        },
        when: (failure) => {
          expectTypeOf(failure).toEqualTypeOf<SagaFailure>();
          return failure.kind === "exhausted";
        },
        breaker: { threshold: 3, reset: "10s", exclude: ["card-declined"] },
      },
    });
});

it("[S-20] later steps read what either of the two has returned, under the step's name", () => {
  const order = saga("a", input)
    .step("charge", {
      act: async ({ input: { cents } }) => (cents > 9 ? err("too-much") : ok({ card: cents })),
      fallback: {
        name: "invoice",
        act: ({ input: { cents } }) => (cents < 0 ? err("too-little") : { invoice: "i-1" }),
      },
    })
    .step("look", {
      act: ({ results }) => {
        expectTypeOf(results.charge).toEqualTypeOf<{ readonly card: number } | { invoice: string }>();
        // @ts-expect-error which of the two it was is told by the value, not by another name
        void results.invoice;
      },
    });
  expectTypeOf<NonNullable<(typeof order)["types"]>["failure"]>().toEqualTypeOf<"too-much" | "too-little">();
});

it("[S-20] a fallback within a fallback, one without a name or an act, and a name that is taken do not compile", () => {
  const one = saga("a", input).step("reserve", { act });
  expectTypeOf(one.step("charge", { act, fallback: { name: "invoice", act } })).toHaveProperty("plan");
  expectTypeOf(one.pivot("ship", { act, fallback: { name: "fly", act, compensate: act } })).toHaveProperty(
    "plan",
  );
  // @ts-expect-error a fallback has no fallback of its own
  one.step("charge", { act, fallback: { name: "invoice", act, fallback: { name: "cash", act } } });
  // @ts-expect-error a fallback has a name of its own
  one.step("charge", { act, fallback: { act } });
  // @ts-expect-error a fallback needs an act
  one.step("charge", { act, fallback: { name: "invoice" } });
  // @ts-expect-error There is already a step named "reserve"
  one.step("charge", { act, fallback: { name: "reserve", act } });
  // @ts-expect-error There is already a step named "charge"
  one.step("charge", { act, fallback: { name: "charge", act } });
  // @ts-expect-error a slip of the pen is not an option
  one.step("charge", { act, fallback: { name: "invoice", act, compnsate: act } });
  // @ts-expect-error neither is one of the breaker
  one.step("charge", { act, fallback: { name: "invoice", act, breaker: { treshold: 3 } } });
  // @ts-expect-error after the pivot there is nothing to compensate, by a fallback neither
  one.pivot("ship", { act }).step("mail", { act, fallback: { name: "letter", act, compensate: act } });
});
