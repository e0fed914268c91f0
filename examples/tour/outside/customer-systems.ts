/** Who else knows the shop's customers: a newsletter, a help desk, and logs that cannot erase, only expire. */
import { DOWN, type Arrived, type Outage, type Reply, type Service } from "./outside.ts";

const DAY_MS = 86_400_000;

export class CustomerSystems {
  readonly #down: ReadonlySet<Outage>;
  /** When the lines about somebody are gone: it says the same whenever it is asked. */
  readonly #expiries = new Map<string, string>();
  readonly #services: Readonly<Record<string, Service>> = {
    newsletter: () => (this.#down.has("newsletter") ? DOWN : { status: 200, body: {} }),
    "help-desk": () => ({ status: 200, body: {} }),
    logs: (arrived) => this.#logs(arrived),
  };

  constructor(down: ReadonlySet<Outage>) {
    this.#down = down;
  }

  find(name: string): Service | undefined {
    return this.#services[name];
  }

  #logs({ path: [, id = ""] }: Arrived): Reply {
    const expiresAt = this.#expiries.get(id) ?? new Date(Date.now() + 30 * DAY_MS).toISOString();
    this.#expiries.set(id, expiresAt);
    return { status: 200, body: { expires_at: expiresAt } };
  }
}
