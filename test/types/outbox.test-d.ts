/** What the compiler promises to whoever enqueues and calls. */
import type { Amends } from "amends";
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
