/**
 * The shop on Amends: its orders, its restocks, its webhooks and what it owes to people who want to be forgotten, in
 * one SQLite file. Waits are short, so that nobody has to wait for the tour; a real shop leaves them as they are.
 */
import path from "node:path";
import { Amends } from "amends";
import { httpResolver, type Erasure, type ErasureReport } from "amends/erasure";
import { openSqlite, sqlite, type SqliteHandle } from "amends/sqlite";
import { customerNumber, TABLES, whereDataIs, type Customer } from "./customers.ts";
import { placeOrder, type Order, type PlaceOrder } from "./place-order.ts";
import { cancelPurchase, restock } from "./restock.ts";
import { Services } from "./services.ts";

export const LEASE_MS = 2_000;
const KNOWN_AT_FIRST = 12;

export class Shop {
  readonly amends: Amends<SqliteHandle>;
  readonly erasure: Erasure<SqliteHandle>;
  readonly placeOrder: PlaceOrder;
  readonly #file: string;
  #handle: SqliteHandle | undefined;
  /** One transaction after the other: there is one handle. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(folder: string, outsideUrl: string) {
    this.#file = path.join(folder, "shop.db");
    this.placeOrder = placeOrder(new Services(outsideUrl));
    this.amends = new Amends({
      database: sqlite(this.#file),
      sagas: [this.placeOrder],
      events: [restock, cancelPurchase],
      lease: LEASE_MS,
      webhooks: {
        retry: { attempts: 4, base: "200ms", cap: "2s" },
        lease: "5s",
        // This machine is no public address: it has to be allowed.
        sending: { allowHttp: true, allowPorts: "any", allowNetworks: ["127.0.0.1"] },
      },
      erasure: {
        dataMap: whereDataIs,
        resolvers: [
          httpResolver({ name: "newsletter", erase: { url: `${outsideUrl}/newsletter/{value}` } }),
          httpResolver({ name: "help-desk", erase: { url: `${outsideUrl}/help-desk/{value}` } }),
          httpResolver({
            name: "logs",
            schedule: { url: `${outsideUrl}/logs/about/{value}`, expiresAt: "expires_at" },
          }),
        ],
        retry: { attempts: 3, base: "250ms", cap: "1s" },
        lease: "5s",
      },
    });
    this.erasure = this.amends.erasure;
  }

  /** Makes the tables, and the first customers. */
  async open(): Promise<void> {
    await this.amends.migrate();
    this.#handle = openSqlite(this.#file);
    this.#handle.exec("pragma busy_timeout = 2000; pragma foreign_keys = on");
    this.#handle.exec(TABLES);
    for (let n = 0; n < KNOWN_AT_FIRST; n++) this.welcome(n);
    await this.erasure.check();
  }

  welcome(n: number): Customer {
    const customer = customerNumber(n);
    this.#run("insert into customers values (?, ?, ?)", customer.id, customer.name, customer.email);
    this.#run(
      "insert into messages (customer_id, body) values (?, ?)",
      customer.id,
      `${customer.name} asks for tea`,
    );
    return customer;
  }

  /** The ledger hears of every order, the others of those for the east. Returns the secret that the ledger verifies with. */
  async subscribePartners(outsideUrl: string): Promise<string> {
    const subscribe = (name: string, filter?: { region: string }): Promise<{ secret: string }> =>
      this.amends.webhooks.subscribe({
        url: `${outsideUrl}/${name}`,
        events: ["order.*"],
        description: name,
        ...(filter && { filter }),
      });
    const { secret } = await subscribe("ledger");
    await subscribe("warehouse-east", { region: "east" });
    await subscribe("old-shop", { region: "east" });
    return secret;
  }

  /** The order, its saga and what partners are owed about it: one commit. */
  async sell(id: string, order: Order, region: string = "west"): Promise<void> {
    await this.#transaction(async (tx) => {
      this.#run(
        "insert into orders values (?, ?, ?, ?, date('now'), ?)",
        id,
        order.customer,
        order.sku,
        order.cents,
        order.customer,
      );
      await this.amends.start(this.placeOrder, order, { id, tx });
      const { sku, cents } = order;
      const data = { orderId: id, sku, cents };
      await this.amends.webhooks.publish(
        {
          type: "order.placed",
          id: `${id}-placed`,
          data,
          attributes: { region },
        },
        { tx },
      );
    });
  }

  /** Erased here at once, and in the systems named as soon as they answer: what they owe is in the same commit. */
  async forget(customer: string, systems: readonly string[]): Promise<ErasureReport> {
    const refs = systems.map((kind) => ({ kind, value: customer }));
    return this.#transaction((tx) => this.erasure.eraseSubject(customer, refs, { tx }));
  }

  async close(): Promise<void> {
    await this.amends.close({ deadline: "3s" });
    this.#handle?.close();
  }

  #transaction<T>(work: (tx: SqliteHandle) => Promise<T>): Promise<T> {
    const mine = this.#last.then(() => this.#alone(work));
    this.#last = mine.catch(() => undefined);
    return mine;
  }

  async #alone<T>(work: (tx: SqliteHandle) => Promise<T>): Promise<T> {
    // At the beginning of a turn nobody else of this process is inside a transaction.
    await new Promise((resolve) => void setImmediate(resolve));
    const handle = this.#handle as SqliteHandle;
    handle.exec("begin immediate");
    try {
      const result = await work(handle);
      handle.exec("commit");
      return result;
    } catch (error) {
      handle.exec("rollback");
      throw error;
    }
  }

  #run(text: string, ...values: readonly (string | number)[]): void {
    this.#handle?.prepare(text).run(...values);
  }
}
