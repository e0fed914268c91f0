/** Who gets webhooks: a ledger that is well, a warehouse in the east that may be down, a shop that has moved away for good. */
import { verifyWebhook } from "amends/webhooks/receive";
import type { Arrived, Outage, Reply, Service } from "./outside.ts";

export class Partners {
  /** What came with the ledger's subscription: it verifies every message with it. */
  ledgerSecret = "";
  /** Messages whose signature the ledger found good. */
  taken = 0;
  readonly #down: ReadonlySet<Outage>;
  readonly #services: Readonly<Record<string, Service>> = {
    ledger: (arrived) => this.#ledger(arrived),
    "warehouse-east": () => this.#east(),
    "old-shop": () => ({ status: 410, body: { error: "we have moved" } }),
  };

  constructor(down: ReadonlySet<Outage>) {
    this.#down = down;
  }

  find(name: string): Service | undefined {
    return this.#services[name];
  }

  async #ledger({ headers, body }: Arrived): Promise<Reply> {
    await verifyWebhook(headers, body, this.ledgerSecret);
    this.taken += 1;
    return { status: 204 };
  }

  #east(): Reply {
    if (this.#down.has("warehouse-east")) return { status: 500, body: { error: "the gate is closed" } };
    return { status: 204 };
  }
}
