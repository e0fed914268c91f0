/** A shop whose services honour keys, and a saga over them that is right: tests put one bug each into it. */
import { err, ok, saga, type SagaDefinition } from "amends";
import { z } from "zod";

/** Somebody else's service: what was done under a key is done once, until it is taken back by that key. */
export class Ledger {
  readonly done = new Map<string, number>();

  do(key: string, amount = 1): { readonly id: string } {
    this.done.set(key, amount);
    return { id: key };
  }

  takeBack(key: string): void {
    this.done.delete(key);
  }

  get total(): number {
    return [...this.done.values()].reduce((sum, amount) => sum + amount, 0);
  }
}

export interface Shop {
  readonly stock: Ledger;
  readonly payments: Ledger;
  readonly parcels: Ledger;
  readonly mails: Ledger;
  readonly log: string[];
}

export const openShop = (): Shop => ({
  stock: new Ledger(),
  payments: new Ledger(),
  parcels: new Ledger(),
  mails: new Ledger(),
  log: [],
});

/** Few tries: each of them is a round of the engine, in hundreds of schedules. */
export const soon = {
  retry: { attempts: 2, base: "5s" },
  compensateRetry: { attempts: 2, base: "5s" },
} as const;

export const order = z.object({ cents: z.number() });

export interface Parts {
  readonly charge: (shop: Shop, key: string, cents: number) => unknown;
  readonly refund: (shop: Shop, actKey: string) => unknown;
}

const RIGHT: Parts = {
  charge: (shop, key, cents) => shop.payments.do(key, cents),
  refund: (shop, actKey) => shop.payments.takeBack(actKey),
};

/** Five steps, the fourth of which is the pivot. */
export const placeOrder =
  (parts: Partial<Parts> = {}) =>
  (shop: Shop): SagaDefinition<{ cents: number }, { cents: number }> => {
    const { charge, refund } = { ...RIGHT, ...parts };
    return saga("place-order", order, { deadline: "2h", ...soon })
      .step("check", { act: ({ input }) => (input.cents > 10_000 ? err("too dear") : ok(undefined)) })
      .step("reserve", {
        act: ({ key }) => shop.stock.do(key),
        compensate: ({ actKey }) => shop.stock.takeBack(actKey),
      })
      .step("charge", {
        act: async ({ input, key }) => {
          await charge(shop, key, input.cents);
        },
        compensate: ({ actKey }) => refund(shop, actKey),
        timeout: "30s",
        retry: { attempts: 3, base: "5s" },
      })
      .pivot("ship", { act: ({ key }) => shop.parcels.do(key) })
      .step("mail", {
        act: ({ key, emit }) => {
          shop.mails.do(key);
          emit({ type: "order.placed" });
        },
      });
  };

/** Paid and shipped, or neither. */
export const isFair = ({ stock, payments, parcels }: Shop): boolean =>
  parcels.total === 1
    ? payments.total === 700 && stock.total === 1
    : payments.total === 0 && stock.total === 0;
