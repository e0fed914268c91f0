/** Warehouse, payment service, carrier and mailer. All of them honour idempotency keys: the same key is the same request. */
import { DOWN, type Arrived, type Outage, type Reply, type Service } from "./outside.ts";

export interface Charge {
  readonly id: string;
  /** How often it was asked for. */
  calls: number;
  refunded: boolean;
}

interface Reservation {
  readonly id: string;
  readonly sku: string;
  released: boolean;
}

/** The card of every customer is good for so much. */
const CARD_CENTS = 10_000;
/** A tour may run for days: what happened long ago is forgotten. */
const REMEMBERED = 5_000;

export class OrderServices {
  readonly stock: Map<string, number> = new Map([
    ["tea", 100],
    ["coffee", 100],
  ]);
  readonly charges: Map<string, Charge> = new Map();
  /** How often the payment service was asked to charge. */
  chargeCalls = 0;
  readonly #reservations = new Map<string, Reservation>();
  readonly #parcels = new Map<string, string>();
  readonly #down: ReadonlySet<Outage>;
  readonly #services: Readonly<Record<string, Service>> = {
    warehouse: (arrived) => this.#warehouse(arrived),
    payments: (arrived) => this.#payments(arrived),
    carrier: (arrived) => this.#carrier(arrived),
    mailer: () => ({ status: 200, body: {} }),
  };
  #made = 0;
  #held: { readonly key: string; readonly tell: () => void } | undefined;

  constructor(down: ReadonlySet<Outage>) {
    this.#down = down;
  }

  find(name: string): Service | undefined {
    return this.#services[name];
  }

  /** Takes the money for this key and withholds the answer, once. Resolves when the money has moved. */
  withholdAnswer(key: string): Promise<void> {
    return new Promise((tell) => {
      this.#held = { key, tell };
    });
  }

  #warehouse({ method, headers, body, path: [actKey = ""] }: Arrived): Reply {
    if (method === "DELETE") {
      const reservation = this.#reservations.get(actKey);
      if (reservation && !reservation.released) this.#move(reservation.sku, 1);
      if (reservation) reservation.released = true;
      return { status: 200, body: {} };
    }
    const { sku } = read(body);
    const key = keyOf(headers);
    const known = this.#reservations.get(key);
    if (!known) this.#move(sku, -1);
    const reservation = known ?? { id: this.#next("r"), sku, released: false };
    keep(this.#reservations, key, reservation);
    return { status: 200, body: { id: reservation.id } };
  }

  #payments({ method, headers, body, path: [actKey = ""] }: Arrived): Reply | undefined {
    if (method === "DELETE") {
      if (this.#down.has("refunds")) return DOWN;
      const charge = this.charges.get(actKey);
      if (charge) charge.refunded = true;
      return { status: 200, body: {} };
    }
    const { cents } = read(body);
    if (cents > CARD_CENTS) return { status: 402, body: { error: "card declined" } };
    const key = keyOf(headers);
    const charge = this.charges.get(key) ?? { id: this.#next("c"), calls: 0, refunded: false };
    charge.calls += 1;
    this.chargeCalls += 1;
    keep(this.charges, key, charge);
    if (this.#held?.key === key) {
      this.#held.tell();
      this.#held = undefined;
      return undefined;
    }
    return { status: 200, body: { id: charge.id } };
  }

  #carrier({ headers, body }: Arrived): Reply {
    const { address } = read(body);
    if (address === "the moon") return { status: 422, body: { error: "no courier goes there" } };
    const key = keyOf(headers);
    const id = this.#parcels.get(key) ?? this.#next("p");
    keep(this.#parcels, key, id);
    return { status: 200, body: { id } };
  }

  #move(sku: string, by: number): void {
    this.stock.set(sku, (this.stock.get(sku) ?? 0) + by);
  }

  #next(letter: string): string {
    return `${letter}-${(this.#made += 1)}`;
  }
}

function keyOf(headers: Arrived["headers"]): string {
  return String(headers["idempotency-key"]);
}

/** What orders send: each service reads its own part. */
interface Wanted {
  readonly sku: string;
  readonly cents: number;
  readonly address: string;
}

function read(body: Buffer): Wanted {
  return JSON.parse(body.toString("utf8")) as Wanted;
}

function keep<T>(map: Map<string, T>, key: string, value: T): void {
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > REMEMBERED && oldest !== undefined) map.delete(oldest);
}
