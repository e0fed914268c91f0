/**
 * A saga with branches: an order is approved or declined. An approved one is paid and packed beside each other, and is
 * shipped once both are done; a declined one is only refused. What each handler does is set per test.
 */
import { err, ok } from "amends";
import { all, event, eventSaga, handler, oneOf, step, type SagaDef, type Subscriber } from "amends/events";
import { z } from "zod";

const ofOrder = z.object({ orderId: z.string() });

export const Placed = event("Placed", ofOrder);
export const Approved = event("Approved", ofOrder.extend({ limit: z.number() }));
export const Declined = event("Declined", ofOrder.extend({ why: z.string() }));
export const Paid = event("Paid", ofOrder.extend({ cents: z.number() }));
export const Packed = event("Packed", ofOrder.extend({ boxes: z.number() }));
export const Shipped = event("Shipped", ofOrder);
export const Refused = event("Refused", ofOrder);
export const Trouble = event("Trouble", ofOrder.extend({ at: z.string() }));
export const Refund = event("Refund", ofOrder);
export const Unpack = event("Unpack", ofOrder);
export const Undone = event("Undone", ofOrder);
export const Done = event("Done", ofOrder);
export const Failed = event("Failed", ofOrder.extend({ error: z.string() }));

type Will = "ok" | "err" | "throw" | "decline" | ((orderId: string) => unknown);

export interface Order {
  readonly saga: SagaDef;
  readonly undoers: readonly Subscriber[];
  /** Every call of a handler, in order, with what it was called with where that is more than one event. */
  readonly calls: string[];
}

type Name = "check" | "pay" | "pack" | "ship" | "refund" | "unpack";

export function order(
  wills: Partial<Record<Name, Will>> = {},
  options: { readonly deadline?: "1m"; readonly transaction?: unknown } = {},
): Order {
  const calls: string[] = [];
  const { transaction } = options;
  const retry = { attempts: 2, base: "1s", cap: "1s" } as const;
  const at = async (name: Name, orderId: string, text: string = name): Promise<unknown> => {
    calls.push(text);
    const will = wills[name] ?? "ok";
    if (will === "throw") throw new Error(`${name} is in trouble`);
    if (typeof will !== "function") return will;
    return will(orderId);
  };
  const basics: { readonly err: typeof Trouble; readonly retry: typeof retry } = {
    ...(transaction !== undefined && { transaction }),
    err: Trouble,
    retry,
  };
  const check = handler("check", {
    ...basics,
    on: Placed,
    ok: oneOf(Approved, Declined),
    handle: async ({ orderId }) =>
      (await at("check", orderId)) === "decline"
        ? ok(Declined({ orderId, why: "no credit" }))
        : ok(Approved({ orderId, limit: 100 })),
  });
  const pay = handler("pay", {
    ...basics,
    on: Approved,
    ok: Paid,
    handle: async ({ orderId, limit }) =>
      (await at("pay", orderId)) === "err"
        ? err(Trouble({ orderId, at: "pay" }))
        : ok(Paid({ orderId, cents: limit })),
  });
  const pack = handler("pack", {
    ...basics,
    on: Approved,
    ok: Packed,
    handle: async ({ orderId }) =>
      (await at("pack", orderId)) === "err"
        ? err(Trouble({ orderId, at: "pack" }))
        : ok(Packed({ orderId, boxes: 2 })),
  });
  const ship = handler("ship", {
    ...basics,
    on: all(Paid, Packed),
    ok: Shipped,
    handle: async ([paid, packed]) => {
      const { orderId } = paid;
      const text = `ship ${paid.type} ${paid.cents} ${packed.type} ${packed.boxes}`;
      return (await at("ship", orderId, text)) === "err"
        ? err(Trouble({ orderId, at: "ship" }))
        : ok(Shipped({ orderId }));
    },
  });
  const refuse = handler("refuse", {
    ...basics,
    on: Declined,
    ok: Refused,
    handle: ({ orderId, why }) => {
      calls.push(`refuse ${why}`);
      return ok(Refused({ orderId }));
    },
  });
  const undo = (name: "refund" | "unpack", on: typeof Refund | typeof Unpack): Subscriber =>
    handler(name, {
      on: on as typeof Refund,
      ok: Undone,
      err: Trouble,
      retry,
      handle: async ({ orderId }) =>
        (await at(name, orderId)) === "err" ? err(Trouble({ orderId, at: name })) : ok(Undone({ orderId })),
    });
  const saga = eventSaga("order", {
    trigger: Placed,
    correlate: "orderId",
    ...(options.deadline && { deadline: options.deadline }),
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
  return { saga, undoers: [undo("refund", Refund), undo("unpack", Unpack)], calls };
}
