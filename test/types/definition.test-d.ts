import { err, ok, saga, type Saga } from "amends";
import { transaction as inPostgres } from "amends/postgres";
import type { ForwardSaga } from "amends/sagas";
import { transaction as inSqlite, type SqliteHandle } from "amends/sqlite";
import type pg from "pg";
import * as v from "valibot";
import { expectTypeOf, it } from "vitest";
import { z } from "zod";

const input = z.object({ sku: z.string(), cents: z.number().default(0) });
const act = (): number => 1;

it("[S-01] an act sees the input as it is stored, and the results of the steps before it", () => {
  saga("a", z.object({ at: z.date(), n: z.string().transform(Number) }))
    .step("one", {
      act: (context) => {
        expectTypeOf(context.input).toEqualTypeOf<{ at: string; n: number }>();
        expectTypeOf<keyof typeof context.results>().toBeNever();
        expectTypeOf(context.key).toEqualTypeOf<string>();
        expectTypeOf(context.attempt).toEqualTypeOf<number>();
        expectTypeOf(context.signal).toEqualTypeOf<AbortSignal>();
        return { id: "r-1", at: new Date() };
      },
    })
    .step("two", {
      act: async ({ results }) => {
        // What was a Date is read back as text: the type says so before a bug does.
        expectTypeOf(results.one).toEqualTypeOf<{ id: string; at: string }>();
        // @ts-expect-error a step that comes later has no result yet
        void results.three;
        // @ts-expect-error a Date does not survive being stored
        void (results.one.at satisfies Date);
        return [results.one.id];
      },
    })
    .step("three", { act: ({ results }) => expectTypeOf(results.two).toEqualTypeOf<string[]>() });
});

it("[S-01] any Standard Schema library fits, and a bad schema does not compile", () => {
  saga("a", v.object({ n: v.number() })).step("one", {
    act: ({ input: { n } }) => expectTypeOf(n).toEqualTypeOf<number>(),
  });
  // @ts-expect-error a plain object is no schema
  saga("a", { n: "number" });
  // @ts-expect-error neither is a function that parses
  saga("a", (value: unknown) => value);
  // @ts-expect-error a saga needs a schema for its input
  saga("a");
});

it("[S-01] ok is worth its value, err is a failure, nothing is undefined, and a promise is what it brings", () => {
  saga("a", input)
    .step("mixed", {
      act: async ({ input: { cents } }) => (cents > 9 ? err("too-much") : ok({ cents })),
      compensate: ({ result }) =>
        expectTypeOf(result).toEqualTypeOf<{ readonly cents: number } | undefined>(),
    })
    .step("void", { act: () => undefined })
    .step("never", { act: () => err({ code: 7 }) })
    .step("look", {
      act: ({ results }) => {
        expectTypeOf(results.mixed).toEqualTypeOf<{ readonly cents: number }>();
        expectTypeOf(results.void).toEqualTypeOf<undefined>();
        expectTypeOf(results.never).toEqualTypeOf<never>();
      },
    });
});

it("[S-01][S-11] an undo gets its own act's result, which may be missing, and earlier results, which may be too", () => {
  saga("a", input)
    .step("one", { act: () => ({ id: 1 }) })
    .step("two", {
      act: () => "two",
      compensate: ({ result, results, actKey }) => {
        expectTypeOf(result).toEqualTypeOf<string | undefined>();
        expectTypeOf(results.one).toEqualTypeOf<{ id: number } | undefined>();
        expectTypeOf(actKey).toEqualTypeOf<string>();
        // @ts-expect-error where the act is in doubt there is no result
        void result.length;
      },
    });
});

it("[S-01] a name that is taken does not compile, and says so", () => {
  const one = saga("a", input).step("reserve", { act });
  expectTypeOf(one.step("charge", { act })).toHaveProperty("plan");
  // @ts-expect-error There is already a step named "reserve"
  one.step("reserve", { act });
  // @ts-expect-error There is already a step named "reserve"
  one.pivot("reserve", { act });
  const passed = one.pivot("ship", { act });
  // @ts-expect-error There is already a step named "ship"
  passed.step("ship", { act });
});

it("[S-01][S-22] after the pivot neither a compensation, a deadline nor a second pivot compiles", () => {
  const passed = saga("a", input)
    .step("one", { act, compensate: act, deadline: "1m", undoOnErr: true })
    .pivot("two", { act, compensate: act, deadline: "1m" });
  expectTypeOf(passed.step("three", { act, retry: { base: "1s" }, timeout: "30s" })).toHaveProperty("plan");
  // @ts-expect-error after the pivot there is nothing to compensate
  passed.step("three", { act, compensate: act });
  // @ts-expect-error after the pivot a deadline cannot turn the saga back
  passed.step("three", { act, deadline: "1m" });
  // @ts-expect-error a saga has one pivot
  void passed.pivot;
});

it("[S-01] a step without an act, an unknown option, and a wrong duration do not compile", () => {
  const one = saga("a", input);
  expectTypeOf(one.step("one", { act, timeout: "30s" })).toHaveProperty("plan");
  // @ts-expect-error a step needs an act
  one.step("one", { compensate: act });
  // @ts-expect-error a slip of the pen is not an option
  one.step("one", { act, compnsate: act });
  // @ts-expect-error a duration has a unit
  one.step("one", { act, timeout: "30 seconds" });
  // @ts-expect-error attempts is a number
  one.step("one", { act, retry: { attempts: "3" } });
  // @ts-expect-error there is no such setting
  saga("a", input, { deadlines: "1m" });
});

it("[S-27] a transactional step gets the database's own kind of transaction, any other step gets none", () => {
  saga("a", input)
    .step("pg", {
      transaction: inPostgres,
      act: ({ tx }) => expectTypeOf(tx).toEqualTypeOf<pg.ClientBase>(),
      compensate: ({ tx }) => expectTypeOf(tx).toEqualTypeOf<pg.ClientBase>(),
    })
    .step("sqlite", {
      transaction: inSqlite,
      act: ({ tx }) => expectTypeOf(tx).toEqualTypeOf<SqliteHandle>(),
    })
    .step("plain", {
      act: ({ tx }) => {
        expectTypeOf(tx).toEqualTypeOf<undefined>();
        // @ts-expect-error without `transaction` there is none
        void tx.query;
      },
    });
});

it("[S-01] a saga's own type reads as what it is", () => {
  const order = saga("place-order", z.object({ orderId: z.string(), cents: z.number() }))
    .step("reserve", { act: ({ input: { orderId } }) => ({ id: orderId, until: new Date() }) })
    .step("charge", {
      act: async ({ input: { cents } }) =>
        cents > 9 ? err("card-declined") : ok({ chargeId: String(cents) }),
    });
  interface OrderInput {
    orderId: string;
    cents: number;
  }
  interface Charged {
    readonly reserve: { id: string; until: string };
    readonly charge: { readonly chargeId: string };
  }
  expectTypeOf(order).toEqualTypeOf<Saga<OrderInput, OrderInput, Charged, "card-declined">>();
  const whole = order
    .pivot("ship", { act: ({ results }) => results.charge.chargeId })
    .step("email", { act: ({ input: { cents } }) => (cents > 0 ? err({ bounced: true }) : undefined) });
  interface Shipped extends Charged {
    readonly ship: string;
    readonly email: undefined;
  }
  expectTypeOf(whole).toEqualTypeOf<
    ForwardSaga<OrderInput, OrderInput, Shipped, "card-declined" | { readonly bounced: true }>
  >();
});
