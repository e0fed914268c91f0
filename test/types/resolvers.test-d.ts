import type { Stripe } from "stripe";
import { describe, expectTypeOf, it } from "vitest";
import type {
  RectifyingResolver,
  Resolver,
  RetentionOnlyResolver,
  VerifyingResolver,
} from "../../src/erasure/remote/resolver.ts";
import { httpResolver } from "../../src/resolvers/http.ts";
import { stripeResolver } from "../../src/resolvers/stripe.ts";
import type { StripeClient } from "../../src/resolvers/stripe-client.ts";

const url = "https://example.com/{value}";

describe("[E-12] a resolver's type says what it can do", () => {
  it("for HTTP systems, by what they were given", () => {
    const name = "x";
    expectTypeOf(httpResolver({ name, erase: { url } })).toEqualTypeOf<Resolver>();
    const rectify = { url };
    const verify = { url };
    expectTypeOf(httpResolver({ name, erase: { url }, rectify })).toEqualTypeOf<RectifyingResolver>();
    expectTypeOf(httpResolver({ name, erase: { url }, verify })).toEqualTypeOf<VerifyingResolver>();
    expectTypeOf(httpResolver({ name, erase: { url }, rectify, verify })).toExtend<
      RectifyingResolver & VerifyingResolver
    >();
    const schedule = { url, expiresAt: "expires_at" };
    expectTypeOf(httpResolver({ name, schedule })).toEqualTypeOf<RetentionOnlyResolver>();
  });

  it("and a system either erases or schedules", () => {
    const schedule = { url, expiresAt: "expires_at" };
    expectTypeOf(httpResolver({ name: "x", schedule })).not.toHaveProperty("eraseSubject");
    // @ts-expect-error there is neither
    httpResolver({ name: "x" });
    // @ts-expect-error there are both
    httpResolver({ name: "x", erase: { url }, schedule });
    // @ts-expect-error what can only expire cannot be corrected
    httpResolver({ name: "x", schedule, rectify: { url } });
    // @ts-expect-error the horizon must be found somewhere
    httpResolver({ name: "x", schedule: { url } });
    // @ts-expect-error no such outcome
    httpResolver({ name: "x", erase: { url }, statuses: { 404: "gone" } });
  });

  it("for Stripe, whose own client fits as it is", () => {
    expectTypeOf<Stripe>().toExtend<StripeClient>();
    const made = stripeResolver({} as Stripe);
    expectTypeOf(made).toExtend<RectifyingResolver & VerifyingResolver>();
    // @ts-expect-error no such field
    stripeResolver({} as Stripe, { categories: { iban: "bank.iban" } });
  });
});
