/** As the thief of entries, for deliveries: takes them over from a process that sleeps, and is still at work on them. */
import { claimCount } from "../../src/core/claim-token.ts";
import { settled } from "../../src/core/outbox/machine.ts";
import { NOTHING_OUT, type Delivery } from "../../src/events/run/outcome.ts";
import { SagaRegistry } from "../../src/events/define/registry.ts";
import { FlowStore } from "../../src/events/store/store.ts";
import type { Database } from "../../src/storage/database.ts";
import { sql } from "../../src/storage/sql.ts";
import { pause } from "./office.ts";
import { rolesOf, type Play } from "./scenario.ts";
import { heldEntries } from "./standing.ts";

const PATIENCE_MS = 25_000;
const LEASE_MS = 60_000;

export class FlowThief {
  readonly #database: Database;
  readonly #registry: SagaRegistry;
  readonly #store: FlowStore;
  /** What the database says about each delivery that was taken and about its run, as text. */
  #taken: ReadonlyMap<Delivery, string> = new Map();

  constructor(database: Database, play: Play) {
    this.#database = database;
    this.#registry = new SagaRegistry(rolesOf(play).events, database.dialect.name);
    const { signal } = new AbortController();
    this.#store = new FlowStore({ db: database, leaseMs: LEASE_MS, signal, onTrouble: () => undefined });
  }

  async take(): Promise<number> {
    const held = await heldEntries(this.#database);
    const { deliverable, routable } = this.#registry;
    const taken: Delivery[] = [];
    const startedAt = performance.now();
    while (taken.length < held.size) {
      taken.push(...(await this.#store.claim({ deliverable, routable }, 50)));
      if (performance.now() - startedAt > PATIENCE_MS) throw new Error("a claim never lapsed");
      await pause();
    }
    const texts = await Promise.all(taken.map(async (one) => [one, await this.#textOf(one)] as const));
    this.#taken = new Map(texts);
    return taken.length;
  }

  async giveBack(): Promise<readonly string[]> {
    const problems: string[] = [];
    for (const [delivery, text] of this.#taken) {
      const { id, token } = delivery;
      if ((await this.#textOf(delivery)) !== text)
        problems.push(
          `I3: delivery ${id} or its run was changed although claim ${claimCount(token)} held it`,
        );
      await this.#store.settle({ delivery, to: settled("release"), uncounted: true, out: NOTHING_OUT });
    }
    this.#taken = new Map();
    return problems;
  }

  async #textOf({ id, sagaId }: Delivery): Promise<string> {
    const { dialect } = this.#database;
    const found = await this.#database.batch([
      sql`select * from ${dialect.table("outbox")} where entry_id = ${id}`,
      sql`select * from ${dialect.table("saga_state")} where saga_id = ${sagaId ?? ""}`,
    ]);
    return JSON.stringify(found);
  }
}
