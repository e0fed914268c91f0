/** A saga that fans in and branches, whose handlers are in several services and deploys. */
import { err, ok } from "amends";
import { all, consumer, event, eventSaga, handler, oneOf, step } from "amends/events";
import type { EventDefinition, Subscriber } from "amends/events";
import { expect, it } from "vitest";
import { z } from "zod";
import type { Database } from "../../src/storage/database.ts";
import { sql } from "../../src/storage/sql.ts";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { runIn, sent, waitFor } from "./support/flow.ts";
import { Approved, Declined, Done, Failed, Packed, Paid, Placed } from "./support/order.ts";
import { Refund, Refused, Shipped, Trouble, Undone, Unpack } from "./support/order.ts";

type Name = "check" | "pay" | "pack" | "ship";
type Will = (orderId: string) => unknown;

interface Deploy {
  /** What these handlers do instead of answering with success. A string that they return is `err`. */
  readonly wills?: Partial<Record<Name, Will>>;
  /** Handlers that never return, so that the work is left to another service or deploy. */
  readonly leaves?: readonly Name[];
  readonly packed?: typeof Packed;
}

/** Handlers that note their service and what they did. */
function handlers(
  service: string,
  calls: string[],
  { wills = {}, leaves = [], packed = Packed }: Deploy = {},
) {
  const basics = { err: Trouble, retry: { attempts: 3, base: "1ms", cap: "1ms" } } as const;
  const at = async (name: Name, orderId: string, { signal }: { signal: AbortSignal }, more = "") => {
    if (leaves.includes(name)) {
      calls.push("left");
      await new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped"))));
    }
    calls.push(`${service} ${name}${more}`);
    return wills[name]?.(orderId);
  };
  const check = handler("check", {
    ...basics,
    on: Placed,
    ok: oneOf(Approved, Declined),
    handle: async ({ orderId }, context) => {
      await at("check", orderId, context);
      return orderId === "declined"
        ? ok(Declined({ orderId, why: "no credit" }))
        : ok(Approved({ orderId, limit: 100 }));
    },
  });
  const pay = handler("pay", {
    ...basics,
    on: Approved,
    ok: Paid,
    handle: async ({ orderId, limit }, context) =>
      (await at("pay", orderId, context)) === "err"
        ? err(Trouble({ orderId, at: "pay" }))
        : ok(Paid({ orderId, cents: limit })),
  });
  const pack = handler("pack", {
    ...basics,
    on: Approved,
    ok: packed,
    handle: async ({ orderId }, context) => {
      await at("pack", orderId, context);
      return ok(packed({ orderId, boxes: 2 }));
    },
  });
  const ship = handler("ship", {
    ...basics,
    on: all(Paid, packed),
    ok: Shipped,
    handle: async ([{ orderId, cents }, { boxes }], context) => {
      await at("ship", orderId, context, ` ${cents} ${boxes}`);
      return ok(Shipped({ orderId }));
    },
  });
  return { check, pay, pack, ship };
}

/** A deploy of the service with the saga. */
function orders(calls: string[], deploy: Deploy = {}) {
  const { check, pay, pack, ship } = handlers("orders", calls, deploy);
  const refuse = handler("refuse", {
    on: Declined,
    ok: Refused,
    err: Trouble,
    handle: ({ orderId, why }) => {
      calls.push(`orders refuse ${why}`);
      return ok(Refused({ orderId }));
    },
  });
  const undo = (name: string, on: typeof Refund | typeof Unpack): Subscriber =>
    handler(name, {
      on: on as typeof Refund,
      ok: Undone,
      err: Trouble,
      handle: ({ orderId }) => {
        calls.push(`orders ${name}`);
        return ok(Undone({ orderId }));
      },
    });
  const saga = eventSaga("order", {
    trigger: Placed,
    correlate: "orderId",
    steps: [
      step("check", check),
      step("pay", pay, { compensation: Refund }),
      step("pack", pack, { compensation: Unpack }),
      step("ship", ship, { ends: [Shipped] }),
      step("refuse", refuse),
    ],
    onCompleted: (id) => Done({ orderId: id }),
    onFailed: (id, failure) => Failed({ orderId: id, error: `${failure.step}: ${failure.error}` }),
  });
  return { saga, events: [saga, undo("refund", Refund), undo("unpack", Unpack)] };
}

onEachDatabase((database) => {
  /** Runs a service until this holds, and stops it. */
  const runUntil = async (events: readonly EventDefinition[], holds: () => unknown): Promise<void> => {
    const worker = await database.worker(await database.amends({ events }));
    await waitFor(holds);
    await worker.stop({ deadline: "0s" });
  };

  /** The number of results that wait for a process with the saga. */
  const recorded = (db: Database, count: number) => async (): Promise<boolean> => {
    const table = db.dialect.table("outbox");
    const [row] = await db.query(
      sql`select count(*) as n from ${table} where answer is not null and status = 'scheduled'`,
    );
    return Number(row?.["n"]) === count;
  };

  it("[F-19][F-24] a saga fans in and branches over the results of handlers in other services, deploy after deploy", async () => {
    const db = await database.open();
    const calls: string[] = [];
    const { saga, events } = orders(calls, { leaves: ["check", "pay", "pack"] });
    const left = (count: number): boolean => calls.filter((one) => one === "left").length === count;
    const plain = await database.amends({ database: db, events: [] });
    await plain.events.publish(["approved", "declined"].map((orderId) => Placed({ orderId })));
    await runUntil(events, () => left(2));
    await runUntil([handlers("credit", calls).check], recorded(db, 2));
    expect((await sent(db)).filter((one) => /^(?:Approved|Declined)/.test(one))).toEqual([]);
    // The next deploy goes on with both branches, and leaves the two steps of one of them.
    await runUntil(
      events,
      async () => left(4) && (await plain.events.runs(saga, "declined"))[0]?.status === "completed",
    );
    await runUntil([handlers("payments", calls).pay], recorded(db, 1));
    await runUntil([handlers("warehouse", calls).pack], recorded(db, 2));
    expect(calls.some((one) => one.startsWith("orders ship"))).toBe(false);
    const last = await database.amends({ events });
    await database.worker(last);
    const run = await runIn(last, saga, "approved", "completed");
    expect(run).toMatchObject({ answers: { check: "Approved" }, notTaken: ["refuse"], dueSteps: [] });
    expect(run.completedSteps.toSorted()).toEqual(["check", "pack", "pay", "ship"]);
    expect(await runIn(last, saga, "declined", "completed")).toMatchObject({
      completedSteps: ["check", "refuse"],
      answers: { check: "Declined" },
    });
    expect(calls.filter((one) => one !== "left").toSorted()).toEqual([
      "credit check",
      "credit check",
      "orders refuse no credit",
      "orders ship 100 2",
      "payments pay",
      "warehouse pack",
    ]);
    const shipping = (await last.events.handlers()).filter(({ handler: name }) => name === "ship");
    expect(shipping.map(({ event: type, saga: of, step: its }) => [type, of, its])).toEqual([
      ["Packed", "order", "ship"],
      ["Paid", "order", "ship"],
    ]);
  });

  it("[F-19][F-24] a handler in another service beside a failed step is not called again, and what it may have done is undone", async () => {
    const db = await database.open();
    const calls: string[] = [];
    const { saga, events } = orders(calls, { leaves: ["pay", "pack"] });
    const plain = await database.amends({ database: db, events: [] });
    await plain.events.publish(Placed({ orderId: "o-1" }));
    await runUntil(events, () => calls.filter((one) => one === "left").length === 2);
    let open: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (open = resolve));
    const pack = (): Promise<never> =>
      held.then(() => {
        throw new Error("the shelf broke");
      });
    const warehouse = await database.amends({
      events: [handlers("warehouse", calls, { wills: { pack } }).pack],
    });
    const working = await database.worker(warehouse);
    await waitFor(() => calls.includes("warehouse pack"));
    await runUntil([handlers("payments", calls, { wills: { pay: () => "err" } }).pay], recorded(db, 1));
    await runUntil(events, async () => (await plain.events.runs(saga, "o-1"))[0]?.status === "compensating");
    open();
    await waitFor(recorded(db, 1));
    await working.stop();
    const last = await database.amends({ events });
    await database.worker(last);
    const run = await runIn(last, saga, "o-1", "failed");
    expect(run.failure).toEqual({ step: "pay", error: "Trouble" });
    expect(calls.filter((one) => one !== "left")).toEqual([
      "orders check",
      "warehouse pack",
      "payments pay",
      "orders unpack",
    ]);
  });

  it("[F-19][F-24] a process that has a handler of that name and not its saga gets no event of a step that waits for several", async () => {
    const db = await database.open();
    const calls: string[] = [];
    const { saga, events } = orders(calls, { leaves: ["ship"] });
    const before = await database.amends({ database: db, events });
    const old = await database.amends({
      events: [
        handler("ship", {
          on: Paid,
          ok: Shipped,
          err: Trouble,
          handle: ({ orderId }) => {
            calls.push("old ship");
            return ok(Shipped({ orderId }));
          },
        }),
        consumer("listen", { on: Refused, handle: () => void calls.push("old listen") }),
      ],
    });
    const first = await database.worker(before);
    await before.events.publish(Placed({ orderId: "o-1" }));
    await waitFor(() => calls.includes("left"));
    await first.stop({ deadline: "0s" });
    const working = await database.worker(old);
    await old.events.publish(Refused({ orderId: "another" }));
    await waitFor(() => calls.includes("old listen"));
    await working.stop();
    const last = orders(calls);
    await database.worker(await database.amends({ events: last.events }));
    await runIn(before, saga, "o-1", "completed");
    expect(calls.slice(3)).toEqual(["left", "old listen", "orders ship 100 2"]);
  });

  it("[F-19][F-24] a step that has gathered an event of a newer version waits for a process that reads it", async () => {
    const db = await database.open();
    const calls: string[] = [];
    const schema = z.object({ orderId: z.string(), boxes: z.number(), kilos: z.number().default(1) });
    const Packed2 = event("Packed", schema, {
      version: 2,
      upcast: (data) => data as z.infer<typeof schema>,
    });
    const packed = Packed2 as unknown as typeof Packed;
    const newer = orders(calls, { leaves: ["pay"], packed });
    const plain = await database.amends({ database: db, events: [] });
    await plain.events.publish(Placed({ orderId: "o-1" }));
    await runUntil(
      newer.events,
      async () => (await sent(db)).includes("Packed > ship") && calls.includes("left"),
    );
    await runUntil(orders(calls).events, async () => (await sent(db)).includes("Paid > ship (scheduled)"));
    const clock = virtualClock();
    const last = await database.amends({ events: orders(calls, { packed }).events, clock });
    clock.jump(120_000);
    await database.worker(last);
    await runIn(last, newer.saga, "o-1", "completed");
    expect(calls.filter((one) => one !== "left").toSorted()).toEqual([
      "orders check",
      "orders pack",
      "orders pay",
      "orders ship 100 2",
    ]);
  });
});
