/** A competitor for deliveries of events: as `EntryCompetitor`, for the rows of a delivery and of its run. */
import { claimCount } from "../../../src/core/claim-token.ts";
import { settled } from "../../../src/core/outbox/machine.ts";
import { NOTHING_OUT, type Delivery } from "../../../src/events/run/outcome.ts";
import { SagaRegistry } from "../../../src/events/define/registry.ts";
import { FlowStore } from "../../../src/events/store/store.ts";
import type { Database } from "../../../src/storage/database.ts";
import { sql } from "../../../src/storage/sql.ts";

import { definitionsOf, type Workload } from "../scenarios/scenario.ts";
import { heldEntries, pause } from "./open-work.ts";

const LIMIT_MS = 25_000;
const LEASE_MS = 60_000;

export class DeliveryCompetitor {
  readonly #database: Database;
  readonly #registry: SagaRegistry;
  readonly #store: FlowStore;
  /** The rows of each claimed delivery and of its run, as text. */
  #claimed: ReadonlyMap<Delivery, string> = new Map();

  constructor(database: Database, workload: Workload) {
    this.#database = database;
    this.#registry = new SagaRegistry(definitionsOf(workload).events, database);
    const { signal } = new AbortController();
    this.#store = new FlowStore({
      db: database,
      leaseMs: LEASE_MS,
      signal,
      watch: { trouble: () => undefined, answered: () => undefined },
    });
  }

  async claimHeld(): Promise<number> {
    const held = await heldEntries(this.#database);
    const { deliverable, routable } = this.#registry;
    const claimed: Delivery[] = [];
    const startedAt = performance.now();
    while (claimed.length < held.size) {
      claimed.push(...(await this.#store.claim({ deliverable, routable }, 50)));
      if (performance.now() - startedAt > LIMIT_MS)
        throw new Error("the claim of the stopped process did not expire");
      await pause();
    }
    const texts = await Promise.all(claimed.map(async (one) => [one, await this.#textOf(one)] as const));
    this.#claimed = new Map(texts);
    return claimed.length;
  }

  async release(): Promise<readonly string[]> {
    const problems: string[] = [];
    for (const [delivery, text] of this.#claimed) {
      const { id, token } = delivery;
      if ((await this.#textOf(delivery)) !== text)
        problems.push(
          `I3: delivery ${id} or its run was changed although claim ${claimCount(token)} held it`,
        );
      await this.#store.settle({ delivery, to: settled("release"), uncounted: true, out: NOTHING_OUT });
    }
    this.#claimed = new Map();
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
