/** What the compiler promises to whoever enqueues and calls. */
import { saga, sagaRef, type Amends } from "amends";
import type { AnySink } from "amends/audit";
import { defineCall, type QueuedCall } from "amends/calls";
import { SagaRunner, type NewOutboxEntry, type Outbox, type ResolverRegistry } from "amends/erasure";
import { describe, expectTypeOf, it } from "vitest";
import { z } from "zod";

interface Tx {
  readonly mine: true;
}
declare const amends: Amends<Tx>;
declare const tx: Tx;
declare const outbox: Outbox<Tx>;
declare const registry: ResolverRegistry;
declare const audit: AnySink;

describe("calls of the user's own", () => {
  const mail = defineCall("mail", {
    schema: z.object({ to: z.string(), copies: z.number().default(1) }),
    handle: (input, { key, attempt, signal }) => {
      expectTypeOf(input).toEqualTypeOf<{ to: string; copies: number }>();
      expectTypeOf(key).toEqualTypeOf<string>();
      expectTypeOf(attempt).toEqualTypeOf<number>();
      expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
    },
  });
  const { calls } = amends;

  it("[O-20] take what their schema takes, in the caller's own transaction", () => {
    expectTypeOf(calls.enqueue(mail, { to: "a" }, { tx })).toEqualTypeOf<Promise<QueuedCall>>();
    expectTypeOf(calls.enqueue).toBeCallableWith(mail, { to: "a" }, { id: "m-1", delay: "10m" });
    // @ts-expect-error: `to` is a text
    void calls.enqueue(mail, { to: 1 }, { tx });
    // @ts-expect-error: `to` is missing
    void calls.enqueue(mail, {}, { tx });
    // @ts-expect-error: not a transaction of this database
    void calls.enqueue(mail, { to: "a" }, { tx: { mine: false } });
    // @ts-expect-error: an instant is a Date
    void calls.enqueue(mail, { to: "a" }, { runAt: "tomorrow" });
  });
});

describe("the outbox", () => {
  it("[O-01] takes entries in the caller's own transaction", () => {
    const entry: NewOutboxEntry = {
      subjectId: "u",
      resolver: "stripe",
      ref: { kind: "stripe", value: "cus_1" },
    };
    expectTypeOf(outbox.enqueue(tx, [entry])).toEqualTypeOf<Promise<readonly string[]>>();
    // @ts-expect-error: there is no such operation
    void outbox.enqueue(tx, [{ ...entry, operation: "forget" }]);
    // @ts-expect-error: not a transaction of this database
    void outbox.enqueue("tx", [entry]);
  });

  it("[O-05] is run by a runner, whatever its transactions are", () => {
    expectTypeOf(new SagaRunner(registry, outbox, audit).runOnce()).toEqualTypeOf<Promise<number>>();
    // @ts-expect-error: a misspelt option
    void new SagaRunner(registry, outbox, audit, { maxAttempt: 3 });
  });
});

describe("limits by key", () => {
  const schema = z.object({ tenant: z.string(), copies: z.number().default(1) });
  const handle = (): void => undefined;
  const ofCustomer = (input: { customer: string }): string => input.customer;

  it("[S-40] of a call get its input, as its schema returns it", () => {
    void defineCall("mail", {
      schema,
      handle,
      concurrency: {
        key: (input) => {
          expectTypeOf(input).toEqualTypeOf<{ tenant: string; copies: number }>();
          return input.tenant;
        },
        limit: 5,
      },
      rate: { key: () => "api", limit: 100, per: "1m" },
    });
    // @ts-expect-error: a key is a text
    void defineCall("mail", { schema, handle, concurrency: { key: ({ copies }) => copies, limit: 5 } });
    // @ts-expect-error: a rate has a period
    void defineCall("mail", { schema, handle, rate: { key: () => "api", limit: 100 } });
    // @ts-expect-error: a period is a duration
    void defineCall("mail", { schema, handle, rate: { key: () => "api", limit: 100, per: "soon" } });
    // @ts-expect-error: the input has no such field
    void defineCall("mail", { schema, handle, concurrency: { key: ofCustomer, limit: 5 } });
  });

  it("[S-40] of a saga and of its reference get the input, as JSON stores it", () => {
    const dated = z.object({ tenant: z.string(), at: z.date() });
    const key = (input: { tenant: string; at: string }): string => input.at;
    expectTypeOf(saga("import", dated, { concurrency: { key, limit: 5 } })).toHaveProperty("name");
    expectTypeOf(sagaRef("import", dated, { concurrency: { key, limit: 5 } })).toHaveProperty("name");
    // @ts-expect-error: the input has no such field
    void saga("import", dated, { rate: { key: ofCustomer, limit: 1, per: "1s" } });
    // @ts-expect-error: a limit has a key
    void sagaRef("import", dated, { concurrency: { limit: 1 } });
  });
});
