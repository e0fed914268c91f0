/**
 * After the story: the shop goes on, with orders, restocks, erasures and now and then an outage, until Ctrl-C. The systems
 * that were down come back after a while, so that the open tasks can be done; the next outage waits until they are.
 */
import { setTimeout as pause } from "node:timers/promises";
import { StockLow } from "./shop/restock.ts";
import type { Order } from "./shop/place-order.ts";
import type { Stage } from "./stage.ts";
import { TaskList } from "./task-list.ts";

const ORDER_EVERY_MS = 400;
const OUTAGE_MS = 12_000;
/** Between the last task and the next outage. */
const PEACE_MS = 90_000;
const REPORT_MS = 10_000;
const FIRST_NEW_CUSTOMER = 12;

export class Traffic {
  readonly #stage: Stage;
  readonly #stop: AbortSignal;
  #customers = FIRST_NEW_CUSTOMER;
  #customer = "u-hana";

  constructor(stage: Stage, stop: AbortSignal) {
    this.#stage = stage;
    this.#stop = stop;
  }

  async run(): Promise<void> {
    await Promise.all([this.#sell(), this.#weather(), this.#report()]);
  }

  async #sell(): Promise<void> {
    const { shop, figures } = this.#stage;
    for (let count = 1; !this.#stop.aborted; count++) {
      const isCalm = this.#stage.outside.down.size === 0;
      await shop.sell(
        this.#stage.nextId(),
        this.#order(count, isCalm),
        isCalm && count % 5 === 0 ? "east" : "west",
      );
      if (count % 10 === 0) {
        const pieces = count % 40 === 0 ? 900 : 100 + (count % 300);
        const restock = StockLow({ restock: `restock-${count}`, sku: "tea", count: pieces });
        await shop.amends.events.publish(restock);
        figures.restocks += 1;
      }
      if (count % 25 === 0) this.#customer = shop.welcome(this.#customers++).id;
      if (count % 50 === 0 && isCalm) await this.#forget(this.#customer, ["help-desk", "newsletter"]);
      await this.#rest(ORDER_EVERY_MS);
    }
  }

  #order(count: number, isCalm: boolean): Order {
    const customer = this.#customer;
    if (count % 7 === 0) return { customer, sku: "coffee", cents: 25_000, address: "Oslo" };
    if (count % 11 === 0 && isCalm) return { customer, sku: "tea", cents: 2_000, address: "the moon" };
    const sku = count % 2 === 0 ? "tea" : "coffee";
    return { customer, sku, cents: 700 + (count % 900), address: "Lisbon" };
  }

  async #weather(): Promise<void> {
    const { outside, screen, figures } = this.#stage;
    while (!this.#stop.aborted) {
      await this.#rest(OUTAGE_MS);
      if (this.#stop.aborted) return;
      outside.down.clear();
      screen.say(
        "The newsletter, the refunds and the warehouse in the east are back: you can now retry what failed.",
      );
      const ticking = new TaskList(this.#stage);
      while (!this.#stop.aborted && (await figures.attention()) > 0) {
        await ticking.update();
        await this.#rest(1_000);
      }
      if (this.#stop.aborted) return;
      await ticking.update();
      screen.say(`All clear: nothing needs attention. The next outage comes in ${PEACE_MS / 1_000} s.`);
      await this.#rest(PEACE_MS);
      if (!this.#stop.aborted) await this.#storm();
    }
  }

  /** The same three services go down, and something of each gets stuck. */
  async #storm(): Promise<void> {
    const { outside, screen, shop } = this.#stage;
    for (const one of ["newsletter", "refunds", "warehouse-east"] as const) outside.down.add(one);
    screen.say(
      "The newsletter, the refunds and the warehouse in the east are down again. See Attention in the console.",
    );
    const customer = shop.welcome(this.#customers++).id;
    await shop.sell(
      this.#stage.nextId(),
      { customer, sku: "tea", cents: 3_100, address: "the moon" },
      "east",
    );
    await this.#forget(customer, ["help-desk", "newsletter"]);
    await this.#forget(shop.welcome(this.#customers++).id, ["newsletter"]);
  }

  async #forget(customer: string, systems: readonly string[]): Promise<void> {
    await this.#stage.shop.forget(customer, systems);
    this.#stage.figures.erasures += 1;
  }

  /** A line that changes on a terminal; elsewhere one now and then. */
  async #report(): Promise<void> {
    const { screen, figures } = this.#stage;
    while (!this.#stop.aborted) {
      if (screen.live) screen.status(await figures.line());
      else screen.say(await figures.line());
      await this.#rest(screen.live ? 500 : REPORT_MS);
    }
  }

  async #rest(ms: number): Promise<void> {
    await pause(ms, undefined, { signal: this.#stop }).catch(() => undefined);
  }
}
