import { err, ok, saga, signal } from "amends";
import { defineCall } from "amends/calls";
import { event } from "amends/events";
import type { ItemResult } from "amends/sagas";
import { transaction } from "amends/sqlite";
import { expectTypeOf, it } from "vitest";
import { z } from "zod";

const nothing = z.object({});
const Order = z.object({ items: z.array(z.object({ sku: z.string(), at: z.date() })), cents: z.number() });
const act = (): number => 1;
const paid = signal("paid", z.object({ cents: z.number() }));
const Cancelled = event(
  "Cancelled",
  z.object({ order: z.string(), why: z.string(), tags: z.array(z.string()) }),
);

it("[S-33] items, their results and their failures are typed, as JSON stores them", () => {
  const order = saga("order", Order)
    .each("reserve", {
      over: ({ input }) => input.items,
      key: (item) => item.sku,
      act: ({ item, itemKey, key }) => {
        expectTypeOf(item).toEqualTypeOf<{ sku: string; at: string }>();
        expectTypeOf([itemKey, key]).toEqualTypeOf<string[]>();
        return item.sku === "" ? err("sold-out" as const) : ok({ id: 7 });
      },
      compensate: ({ item, result, actKey }) => {
        expectTypeOf(item.at).toEqualTypeOf<string>();
        expectTypeOf(result).toEqualTypeOf<{ readonly id: 7 } | undefined>();
        expectTypeOf(actKey).toEqualTypeOf<string>();
      },
      concurrency: 5,
    })
    .step("ship", {
      act: ({ results }) =>
        expectTypeOf(results.reserve).toEqualTypeOf<
          readonly ItemResult<{ sku: string; at: string }, { readonly id: 7 }>[]
        >(),
    });
  expectTypeOf<NonNullable<typeof order.types>["failure"]>().toEqualTypeOf<"sold-out">();
  // @ts-expect-error a key is a text
  saga("a", Order).each("e", { over: ({ input }) => input.items, key: (item) => item.at.length, act });
  // @ts-expect-error there is no list
  saga("a", Order).each("e", { over: ({ input }) => input.cents, key: () => "k", act });
  // @ts-expect-error a list cannot be transactional
  saga("a", nothing).each("e", { over: () => [1], key: () => "k", act, transaction });
  const taken = saga("a", nothing).step("e", { act });
  // @ts-expect-error there is already a step of that name
  taken.each("e", { over: () => [1], key: () => "k", act });
  saga("a", nothing)
    .pivot("pay", { act })
    // @ts-expect-error after the pivot there is nothing to compensate
    .each("e", { over: () => [1], key: () => "k", act, compensate: () => undefined });
});

it("[S-34] the results of branches may be missing in later steps, and their failures are failures of the saga", () => {
  const order = saga("order", Order)
    .step("quote", { act: () => 7 })
    .when(
      "large",
      ({ input, results }) => input.cents > results.quote,
      (branch) =>
        branch
          .step("ask", {
            act: ({ results }) => {
              expectTypeOf(results.large).toEqualTypeOf<boolean>();
              return results.quote > 1 ? ok("yes") : err("no" as const);
            },
          })
          .waitFor("paid", { signal: paid }),
      (branch) =>
        branch.step("wave", {
          act: ({ results }) => {
            expectTypeOf(results.ask).toEqualTypeOf<undefined>();
            return results.quote > 1 ? err("never" as const) : 2;
          },
        }),
    )
    .step("last", {
      act: ({ results }) => {
        expectTypeOf(results.large).toEqualTypeOf<boolean>();
        expectTypeOf(results.ask).toEqualTypeOf<"yes" | undefined>();
        expectTypeOf(results.paid).toEqualTypeOf<{ cents: number } | undefined>();
        expectTypeOf(results.wave).toEqualTypeOf<number | undefined>();
      },
    });
  expectTypeOf<NonNullable<typeof order.types>["failure"]>().toEqualTypeOf<"no" | "never">();
  saga("a", nothing).when(
    "w",
    () => true,
    (branch) => {
      // @ts-expect-error the pivot cannot stand in a branch
      void branch.pivot;
      return branch.step("b", { act });
    },
  );
  saga("a", nothing).when(
    "w",
    // @ts-expect-error a choice is true or false
    () => "yes",
    (branch) => branch.step("b", { act }),
  );
  saga("a", nothing).when(
    "w",
    () => true,
    // @ts-expect-error a branch must be returned
    () => undefined,
  );
  saga("a", nothing).when(
    "w",
    () => true,
    (branch) => branch.step("b", { act }),
    // @ts-expect-error the other branch has a step of that name
    (branch) => branch.step("b", { act }),
  );
  saga("a", nothing)
    .pivot("pay", { act })
    .when(
      "w",
      () => true,
      // @ts-expect-error after the pivot there is nothing to compensate in a branch either
      (branch) => branch.step("b", { act, compensate: act }),
    );
});

it("[S-35] what rounds are worth says how they ended, and how often there were any", () => {
  saga("poll", nothing)
    .repeat("look", {
      act: ({ round }) => (round > 1 ? ok({ ready: true }) : err("gone" as const)),
      until: ({ result, round }) => result.ready && round > 1,
      every: "1h",
      max: 5,
      compensate: ({ rounds, result, actKey }) => {
        expectTypeOf([rounds, actKey(1).length]).toEqualTypeOf<number[]>();
        expectTypeOf(result).toEqualTypeOf<{ readonly ready: true } | undefined>();
      },
    })
    .repeat("must", { act, until: () => true, every: "1h", max: 5, onMax: "fail" })
    .repeat("remind", { act: () => "sent", until: { signal: paid }, every: "1h", max: 5 })
    .step("last", {
      act: ({ results: { look, must, remind } }) => {
        expectTypeOf(look.done).toEqualTypeOf<boolean>();
        expectTypeOf(look.result.ready).toEqualTypeOf<true>();
        expectTypeOf(must.done).toEqualTypeOf<true>();
        if (remind.done) expectTypeOf(remind.received).toEqualTypeOf<{ cents: number }>();
        expectTypeOf(remind.result).toEqualTypeOf<string | undefined>();
      },
    });
  saga("a", z.object({ order: z.string() })).repeat("r", {
    act,
    until: { event: Cancelled, where: "order", equals: ({ input }) => input.order },
    every: "1h",
    max: 5,
  });
  // @ts-expect-error the number of rounds must be said
  saga("a", nothing).repeat("r", { act, until: () => true, every: "1h" });
  // @ts-expect-error what ends the rounds must be said
  saga("a", nothing).repeat("r", { act, every: "1h", max: 3 });
  const tags = { event: Cancelled, where: "tags", equals: () => "x" } as const;
  // @ts-expect-error a list cannot be compared
  saga("a", nothing).repeat("r", { act, until: tags, every: "1h", max: 3 });
  saga("a", nothing)
    .pivot("pay", { act })
    // @ts-expect-error after the pivot a saga only goes forward
    .repeat("r", { act, until: () => true, every: "1h", max: 3, onMax: "fail" });
});

it("[S-37] the first of several is typed as a union that says which it was", () => {
  saga("order", z.object({ order: z.string() }))
    .waitFor("decision", {
      any: {
        paid: { signal: paid },
        cancelled: { event: Cancelled, where: "order", equals: ({ input }) => input.order },
        late: "30d",
      },
    })
    .step("last", {
      act: ({ results: { decision } }) => {
        expectTypeOf(decision.which).toEqualTypeOf<"paid" | "cancelled" | "late">();
        if (decision.which === "paid") expectTypeOf(decision.value.cents).toEqualTypeOf<number>();
        if (decision.which === "cancelled") expectTypeOf(decision.value.why).toEqualTypeOf<string>();
        // @ts-expect-error nothing arrives with time
        if (decision.which === "late") void decision.value;
      },
    });
  const field = { event: Cancelled, where: "id", equals: () => "x" } as const;
  // @ts-expect-error the event has no such field
  saga("a", nothing).waitFor("w", { any: { first: field, second: "1h" } });
  const value = { event: Cancelled, where: "order", equals: () => 7 } as const;
  // @ts-expect-error the field holds a text
  saga("a", nothing).waitFor("w", { any: { first: value, second: "1h" } });
  // @ts-expect-error a time limit is one of the alternatives
  saga("a", nothing).waitFor("w", { any: { a: { signal: paid }, b: "1h" }, timeout: "1h" });
});

it("[S-26] the input of a child fits its schema, and its results and failures are typed", () => {
  const ship = saga("ship", z.object({ city: z.string() })).step("label", {
    act: ({ input }) => (input.city === "" ? err("nowhere" as const) : ok(7)),
  });
  const order = saga("order", Order)
    .saga("ship", ship, {
      input: ({ input }) => ({ city: `${input.cents}` }),
      id: ({ sagaId }) => `${sagaId}-s`,
    })
    .step("last", {
      act: ({ results }) => {
        expectTypeOf(results.ship.id).toEqualTypeOf<string>();
        expectTypeOf(results.ship.results.label).toEqualTypeOf<7>();
      },
    });
  expectTypeOf<NonNullable<typeof order.types>["failure"]>().toEqualTypeOf<"nowhere">();
  // @ts-expect-error the input does not fit the child's schema
  saga("a", nothing).saga("ship", ship, { input: () => ({ town: "x" }) });
  const forward = ship.pivot("hand", { act });
  // @ts-expect-error before its pivot a saga takes its children back, and one with a pivot cannot be
  saga("a", nothing).saga("ship", forward, { input: () => ({ city: "x" }) });
  saga("a", nothing)
    .pivot("pay", { act })
    .saga("ship", forward, { input: () => ({ city: "x" }) });
});

it("[S-46] what follows an end sees the results or the failure, and calls get an input that fits their schema", () => {
  const tell = defineCall("tell", { schema: z.object({ order: z.string() }), handle: () => undefined });
  const order = saga("order", Order)
    .step("charge", { act: () => (Date.now() > 0 ? ok(7) : err("declined" as const)) })
    .onCompleted({
      transaction,
      act: ({ tx, results, input }) => {
        expectTypeOf(results.charge).toEqualTypeOf<7>();
        expectTypeOf(input.cents).toEqualTypeOf<number>();
        tx.exec("update orders set status = 'paid'");
      },
    })
    .onFailed({
      call: tell,
      input: ({ failure, results, sagaId }) => {
        if (failure.kind === "err") expectTypeOf(failure.value).toEqualTypeOf<"declined">();
        expectTypeOf(results.charge).toEqualTypeOf<7 | undefined>();
        return { order: sagaId };
      },
    })
    .onStalled({ call: tell, input: ({ reason }) => ({ order: reason }) });
  expectTypeOf(order.name).toEqualTypeOf<string>();
  // @ts-expect-error the input does not fit the schema of the call
  saga("a", nothing).onCompleted({ call: tell, input: () => ({ id: "x" }) });
  // @ts-expect-error a function needs a transaction
  saga("a", nothing).onCompleted({ act: () => undefined });
  // @ts-expect-error a stall is told by a call
  saga("a", nothing).onStalled({ transaction, act: () => undefined });
});
