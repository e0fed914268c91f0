/** What has happened so far, in one line that fits a terminal. */
import type { Outside } from "./outside/outside.ts";
import type { Shop } from "./shop/shop.ts";

export class Figures {
  restocks = 0;
  erasures = 0;
  readonly #shop: Shop;
  readonly #outside: Outside;

  constructor(shop: Shop, outside: Outside) {
    this.#shop = shop;
    this.#outside = outside;
  }

  async attention(): Promise<number> {
    return (await this.#shop.amends.attention.count()).total.value;
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
