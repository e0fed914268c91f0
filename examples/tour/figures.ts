/** What has happened so far: one line that fits a terminal, and a summary for the end. */
import type { Outside } from "./outside/outside.ts";
import type { Shop } from "./shop/shop.ts";

export class Figures {
  restocks = 0;
  erasures = 0;
  /** Workers that were killed while they held an order. */
  crashes = 0;
  /** What the signs of `line` mean. */
  static readonly legend: string = "✓ completed  ↺ rolled back  attention: items that need an operator";
  readonly #shop: Shop;
  readonly #outside: Outside;

  constructor(shop: Shop, outside: Outside) {
    this.#shop = shop;
    this.#outside = outside;
  }

  async attention(): Promise<number> {
    return (await this.#shop.amends.attention.count()).total.value;
  }

  /** What it adds up to, as names and values. `open` is how many items still need attention. */
  summary(open: number): readonly (readonly [name: string, value: string])[] {
    const { completed, failed } = this.#shop.amends.counters;
    const { chargeCalls, charges } = this.#outside.orders;
    return [
      ["orders", `${completed} completed, ${failed} rolled back${open === 0 ? ", none half-done" : ""}`],
      ["crashes", `${this.crashes} survived`],
      ["payments", `called ${chargeCalls} times for ${charges.size} charges: no customer paid twice`],
      ["erasures", `${this.erasures} requested`],
      ...(open === 0 ? [] : [["attention", `${open} items are still open`] as const]),
    ];
  }

  async line(): Promise<string> {
    const { completed, failed } = this.#shop.amends.counters;
    const parts = [
      `orders ${completed} ✓ ${failed} ↺`,
      `restocks ${this.restocks}`,
      `webhooks ${this.#outside.partners.taken}`,
      `erasures ${this.erasures}`,
      `attention ${await this.attention()}`,
    ];
    return parts.join(" · ");
  }
}
