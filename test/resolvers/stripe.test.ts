import { virtualClock } from "amends/testing";
import { Stripe } from "stripe";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { classify, errorLabel } from "../../src/core/errors.ts";
import { stripeResolver, type StripeResolverOptions } from "../../src/resolvers/stripe.ts";
import type { StripeClient } from "../../src/resolvers/stripe-client.ts";
import { callOf, portrait, thrownBy } from "./support/calls.ts";
import { fakeStripe, stripeError, type FakeStripe } from "./support/fake-stripe.ts";
import { json } from "./support/http-server.ts";

const ID = "cus_canary7f3a";
const REF = { kind: "stripe", value: ID };
const EMAIL = { category: "email", value: "right@example.com" };

let stripe: FakeStripe;
beforeEach(async () => {
  stripe = await fakeStripe();
  stripe.customers.set(ID, { id: ID, object: "customer", email: "wrong@example.com", name: "Ann" });
});
afterEach(() => stripe.close());

const resolver = (options?: StripeResolverOptions): ReturnType<typeof stripeResolver> =>
  stripeResolver(stripe.client(), options);

const keysSent = (): unknown[] =>
  stripe.received.filter(({ method }) => method === "POST").map(({ headers }) => headers["idempotency-key"]);

async function troubleOf(work: () => Promise<unknown>): Promise<string> {
  const thrown = await thrownBy(work);
  expect(portrait(thrown)).not.toContain(ID);
  return `${classify(thrown)} ${errorLabel(thrown)}`;
}

describe("erasing", () => {
  it("[O-06] one request is sent, under the entry's id", async () => {
    expect(await resolver().eraseSubject(REF, callOf({ key: "entry-1" }))).toEqual({});
    expect(stripe.customers.get(ID)?.deleted).toBe(true);
    expect(stripe.received).toHaveLength(1);
    expect(stripe.received[0]).toMatchObject({ method: "DELETE", path: `/v1/customers/${ID}` });
    expect(stripe.received[0]?.headers["idempotency-key"]).toBe("entry-1");
  });

  it("[O-07] no such customer is already absent", async () => {
    const ref = { kind: "stripe", value: "cus_nobody" };
    expect(await resolver().eraseSubject(ref, callOf())).toEqual({ alreadyAbsent: true });
  });

  it("[O-08] a key of the other mode is no proof of absence", async () => {
    const message = `No such customer: '${ID}'; a similar object exists in live mode, but a test mode key was used to make this request.`;
    const error = { type: "invalid_request_error", code: "resource_missing", message };
    stripe.answerNext(stripeError(404, error), { times: 2 });
    expect(await troubleOf(() => resolver().eraseSubject(REF, callOf()))).toBe("permanent stripe-wrong-mode");
    expect(await troubleOf(() => resolver().verifyAbsent(REF, callOf()))).toBe("permanent stripe-wrong-mode");
  });

  it("[O-08] an address that Stripe does not know is no proof of absence", async () => {
    stripe.answerNext(
      stripeError(404, { type: "invalid_request_error", message: "Unrecognized request URL" }),
    );
    expect(await troubleOf(() => resolver().eraseSubject(REF, callOf()))).toBe("permanent stripe-http-404");
  });

  it("[O-08] an answer that does not say deleted is permanent trouble", async () => {
    stripe.answerNext(json(200, { id: ID, object: "customer" }));
    expect(await troubleOf(() => resolver().eraseSubject(REF, callOf()))).toBe(
      "permanent stripe-unfit-reply",
    );
  });

  it.each(["", ".", ".."])("[O-08] %j is the id of nobody", async (value) => {
    const ref = { kind: "stripe", value };
    expect(await troubleOf(() => resolver().eraseSubject(ref, callOf()))).toBe("permanent stripe-bad-ref");
    expect(stripe.received).toEqual([]);
  });

  it("[E-12] a connected account is named by the ref", async () => {
    await resolver().eraseSubject({ ...REF, extra: { stripeAccount: "acct_1" } }, callOf());
    expect(stripe.received[0]?.headers["stripe-account"]).toBe("acct_1");
  });
});

describe("trouble", () => {
  const error = (type: string, code?: string): Record<string, string> => ({
    type,
    message: `about ${ID}`,
    ...(code ? { code } : {}),
  });

  it.each([
    [
      400,
      error("invalid_request_error", "parameter_invalid_empty"),
      "permanent stripe-parameter_invalid_empty",
    ],
    [400, error("invalid_request_error"), "permanent stripe-http-400"],
    [403, error("invalid_request_error"), "permanent stripe-http-403"],
    [400, error("invalid_request_error", `no ${ID}`), "permanent stripe-http-400"],
    [409, error("idempotency_error", "idempotency_key_in_use"), "transient stripe-idempotency_key_in_use"],
    [429, error("invalid_request_error", "rate_limit"), "transient stripe-rate_limit"],
    [429, error("invalid_request_error", "lock_timeout"), "transient stripe-lock_timeout"],
    [500, error("api_error"), "transient stripe-http-500"],
    [503, error("api_error"), "transient stripe-http-503"],
  ])("[K-15][K-16] status %i with %j is %s, and is sent once", async (status, body, outcome) => {
    stripe.answerNext(stripeError(status, body));
    expect(await troubleOf(() => resolver().eraseSubject(REF, callOf()))).toBe(outcome);
    expect(stripe.received).toHaveLength(1);
  });

  it("[O-08] a wrong key is permanent trouble", async () => {
    const wrong = stripeResolver(stripe.client("sk_test_wrong"));
    expect(await troubleOf(() => wrong.eraseSubject(REF, callOf()))).toBe("permanent stripe-http-401");
  });

  it("[E-12] Retry-After is passed on", async () => {
    stripe.answerNext(stripeError(429, error("rate_limit_error"), { "retry-after": "7" }));
    expect(await thrownBy(() => resolver().eraseSubject(REF, callOf()))).toMatchObject({ afterMs: 7_000 });
  });

  it("[K-15] a connection that fails is transient", async () => {
    const client = stripe.client();
    await stripe.close();
    const outcome = await troubleOf(() => stripeResolver(client).eraseSubject(REF, callOf()));
    expect(outcome).toBe("transient stripe-connection");
    stripe = await fakeStripe();
  });

  it("[K-15] whatever else a client throws is transient", async () => {
    const client = stripe.client();
    for (const [thrown, label] of [
      [new TypeError(ID), "stripe-TypeError"],
      [ID, "stripe-UnknownError"],
      [null, "stripe-UnknownError"],
    ] as const) {
      vi.spyOn(client.customers, "del").mockRejectedValueOnce(thrown);
      expect(await troubleOf(() => stripeResolver(client).eraseSubject(REF, callOf()))).toBe(
        `transient ${label}`,
      );
    }
  });

  it("[K-15] no answer in time is transient", async () => {
    stripe.fault("hangs");
    const clock = virtualClock();
    const trouble = troubleOf(() => resolver({ timeout: "10s", clock }).eraseSubject(REF, callOf()));
    await vi.waitFor(() => expect(stripe.received).toHaveLength(1));
    await clock.advance(10_000);
    expect(await trouble).toBe("transient stripe-timeout");
  });
});

describe("rectifying", () => {
  it("[O-07] only what the mapping knows is sent, once, under the entry's id", async () => {
    const iban = { category: "iban", value: "DE00" };
    expect(await resolver().rectifySubject(REF, [EMAIL, iban], callOf({ key: "entry-1" }))).toEqual({});
    expect(stripe.customers.get(ID)).toMatchObject({ email: EMAIL.value, name: "Ann" });
    expect(stripe.received.map(({ method, body }) => [method, body])).toEqual([
      ["GET", ""],
      ["POST", "email=right%40example.com"],
    ]);
    expect(keysSent()).toEqual(["entry-1"]);
  });

  it("[O-07] what is right already is not sent again", async () => {
    await resolver().rectifySubject(REF, [EMAIL], callOf());
    expect(await resolver().rectifySubject(REF, [EMAIL], callOf())).toEqual({ alreadyConsistent: true });
    expect(keysSent()).toHaveLength(1);
    const iban = { category: "iban", value: "DE00" };
    expect(await resolver().rectifySubject(REF, [iban], callOf())).toEqual({ alreadyConsistent: true });
  });

  it("[O-07] the parts of an address that are right are kept", async () => {
    const address = { line1: "1 Old St", city: "Bristol", country: "GB" };
    stripe.customers.set(ID, { id: ID, object: "customer", address });
    const categories = { street: "address.line1", postcode: "address.postal_code" } as const;
    const corrections = [
      { category: "street", value: "2 New St" },
      { category: "postcode", value: 12345 },
    ];
    expect(await resolver({ categories }).rectifySubject(REF, corrections, callOf())).toEqual({});
    const right = { line1: "2 New St", postal_code: "12345", city: "Bristol", country: "GB" };
    expect(stripe.customers.get(ID)?.address).toEqual(right);
    const again = await resolver({ categories }).rectifySubject(REF, corrections, callOf());
    expect(again).toEqual({ alreadyConsistent: true });
  });

  it("[O-07] a customer who is gone between the look and the change needs no correction", async () => {
    stripe.answerNext(json(200, { id: ID, object: "customer", email: "wrong@example.com" }));
    stripe.customers.delete(ID);
    const { rectifySubject } = resolver();
    expect(await rectifySubject(REF, [EMAIL], callOf())).toEqual({ alreadyConsistent: true });
  });

  it("[E-12] a failure that Stripe keeps for the key does not stand in the way for ever", async () => {
    stripe.answerNext(json(200, { id: ID, object: "customer" }));
    stripe.answerNext(stripeError(500, { type: "api_error", message: "oops" }), { isKept: true });
    const first = callOf({ key: "entry-1", attempt: 1 });
    expect(await troubleOf(() => resolver().rectifySubject(REF, [EMAIL], first))).toBe(
      "transient stripe-http-500",
    );
    const second = callOf({ key: "entry-1", attempt: 2 });
    expect(await resolver().rectifySubject(REF, [EMAIL], second)).toEqual({});
    expect(keysSent()).toEqual(["entry-1", "entry-1", "entry-1:2"]);
    expect(stripe.customers.get(ID)?.["email"]).toBe(EMAIL.value);
  });

  it("[E-12] a change that differs from the one that the key stands for is made under a key of its own", async () => {
    const categories = { street: "address.line1" } as const;
    const street = [{ category: "street", value: "2 New St" }];
    const by = resolver({ categories });
    await by.rectifySubject(REF, street, callOf({ key: "entry-1" }));
    stripe.customers.set(ID, { id: ID, object: "customer", address: { line1: "1 Old St", city: "Bristol" } });
    expect(await by.rectifySubject(REF, street, callOf({ key: "entry-1", attempt: 2 }))).toEqual({});
    expect(stripe.customers.get(ID)?.address).toEqual({ line1: "2 New St", city: "Bristol" });
    expect(keysSent()).toEqual(["entry-1", "entry-1", "entry-1:2"]);
  });
});

describe("what is wrong with the options is said when the resolver is made", () => {
  it("[K-20] a client that is none, an unknown field, an unknown option", () => {
    const client = stripe.client();
    expect(() => stripeResolver({} as StripeClient)).toThrow(/has no customers\.del/);
    expect(() => stripeResolver(undefined as unknown as StripeClient)).toThrow(/needs a Stripe client/);
    const categories = { iban: "bank.iban" } as unknown as Readonly<Record<string, "name">>;
    expect(() => stripeResolver(client, { categories })).toThrow(/category iban must be one of name, email/);
    expect(() => stripeResolver(client, { nam: "x" } as StripeResolverOptions)).toThrow(
      /no option named nam/,
    );
    expect(() => stripeResolver(client, { timeout: 0 })).toThrow(/longer than zero/);
    expect(() => stripeResolver(client, { name: "" })).toThrow(/name must not be empty/);
    expect(stripeResolver(client, { name: "stripe-eu" }).name).toBe("stripe-eu");
    expect(stripeResolver(new Stripe("sk_test_x")).name).toBe("stripe");
  });
});
