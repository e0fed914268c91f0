/**
 * The world outside: a warehouse, a payment service, a carrier and a mailer, each with its own memory in a file that
 * outlives the processes of the tour. All of them honour idempotency keys: the same key again is the same request.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

export interface World {
  readonly stock: Record<string, number>;
  readonly reservations: Record<string, { readonly id: string; readonly sku: string; released: boolean }>;
  readonly charges: Record<string, { readonly id: string; readonly cents: number; refunded: boolean }>;
  /** How often the payment service was called, per key. */
  readonly chargeCalls: Record<string, number>;
  readonly shipments: Record<string, string>;
  readonly mails: string[];
  paymentsDown: boolean;
}

/** Its name becomes the label that Amends keeps of it. */
export class PaymentsDown extends Error {}

export interface ShopOptions {
  readonly file: string;
  /** How long each service takes to answer. */
  readonly answerMs?: number;
  /** Called when money has moved and before the answer goes out: where a process is killed, it is killed here. */
  readonly beforeAnswer?: () => Promise<void>;
}

export class Shop {
  readonly #options: ShopOptions;

  constructor(options: ShopOptions) {
    this.#options = options;
  }

  async reserve(sku: string, key: string): Promise<{ id: string }> {
    await this.#travel();
    return this.change((world) => {
      const known = world.reservations[key];
      if (known) return { id: known.id };
      world.stock[sku] = (world.stock[sku] ?? 0) - 1;
      const id = `r-${Object.keys(world.reservations).length + 1}`;
      world.reservations[key] = { id, sku, released: false };
      return { id };
    });
  }

  /** Undoes by the act's key: it is known even when the reservation's id is not. */
  async release(actKey: string): Promise<void> {
    await this.#travel();
    this.change((world) => {
      const reservation = world.reservations[actKey];
      if (!reservation || reservation.released) return;
      reservation.released = true;
      world.stock[reservation.sku] = (world.stock[reservation.sku] ?? 0) + 1;
    });
  }

  async charge(cents: number, key: string): Promise<{ declined: true } | { declined: false; id: string }> {
    await this.#travel();
    const answer = this.change((world): { declined: true } | { declined: false; id: string } => {
      world.chargeCalls[key] = (world.chargeCalls[key] ?? 0) + 1;
      if (cents > 10_000) return { declined: true };
      const id = world.charges[key]?.id ?? `c-${Object.keys(world.charges).length + 1}`;
      world.charges[key] ??= { id, cents, refunded: false };
      return { declined: false, id };
    });
    await this.#options.beforeAnswer?.();
    return answer;
  }

  async refund(actKey: string): Promise<void> {
    await this.#travel();
    this.change((world) => {
      if (world.paymentsDown) throw new PaymentsDown("the payment service does not answer");
      const charge = world.charges[actKey];
      if (charge) charge.refunded = true;
    });
  }

  /** Undefined where no courier goes. */
  async book(address: string, key: string): Promise<string | undefined> {
    await this.#travel();
    if (address === "the moon") return undefined;
    return this.change((world) => (world.shipments[key] ??= `s-${Object.keys(world.shipments).length + 1}`));
  }

  async confirm(orderId: string): Promise<void> {
    await this.#travel();
    this.change((world) => void world.mails.push(orderId));
  }

  read(): World {
    const { file } = this.#options;
    return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as World) : empty();
  }

  change<T>(how: (world: World) => T): T {
    const { file } = this.#options;
    const world = this.read();
    const value = how(world);
    writeFileSync(`${file}.new`, `${JSON.stringify(world, null, 2)}\n`);
    renameSync(`${file}.new`, file);
    return value;
  }

  async #travel(): Promise<void> {
    await pause(this.#options.answerMs ?? 120);
  }
}

function empty(): World {
  return {
    stock: { tea: 100, coffee: 100 },
    reservations: {},
    charges: {},
    chargeCalls: {},
    shipments: {},
    mails: [],
    paymentsDown: false,
  };
}
