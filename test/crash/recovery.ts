/** What another process does after a crash: takes up whatever is open, until nothing is; then everything is checked. */
import { Amends } from "amends";
import { CLAIMABLE } from "../../src/core/saga/machine.ts";
import type { Database } from "../../src/storage/database.ts";
import { literals, raw, sql } from "../../src/storage/sql.ts";
import { Effects, recorder } from "../support/effects.ts";
import { checkInvariants, endedSagas } from "../support/invariants.ts";
import { openPlace, type Place } from "./place.ts";
import { ID, type Play, type Scenario } from "./scenario.ts";
import { World } from "./world.ts";

/** Long: nobody takes away what the recoverer holds. */
const LEASE_MS = 2_000;
const PATIENCE_MS = 25_000;

export class Recovery {
  readonly #scenario: Scenario;
  readonly #database: Database;
  readonly #effects: Effects;
  readonly #play: Play;
  readonly #amends: Amends;
  readonly #operator: Amends;

  private constructor(scenario: Scenario, place: Place, database: Database) {
    this.#scenario = scenario;
    this.#database = database;
    this.#effects = new Effects(place.effects);
    const world = new World(this.#effects, database, (id) => this.cancel(id));
    this.#play = scenario.play(world);
    const options = { database, lease: LEASE_MS, middleware: [recorder(this.#effects)] };
    this.#amends = new Amends({ ...options, sagas: this.#play.sagas });
    this.#operator = new Amends({ ...options, sagas: this.#play.sagas });
  }

  static async open(scenario: Scenario, place: Place): Promise<Recovery> {
    return new Recovery(scenario, place, await openPlace(place));
  }

  /** Another process than the worker's cancels. */
  async cancel(id: string): Promise<void> {
    await this.#operator.cancel(id, { reason: "the customer changed her mind" });
  }

  /** Works until nothing is open. Returns how many sagas it took away from somebody who had not given them back. */
  async run(): Promise<number> {
    const before = this.#amends.counters.recovered;
    const worker = this.#amends.worker({ poll: 50 });
    await worker.start();
    await this.#until(async () => (await this.#count(CLAIMABLE)) === 0);
    if (this.#play.operate && (await this.#count(["STALLED"])) > 0) {
      await this.#play.operate(this.#operator);
      await this.#until(async () => (await this.#count(CLAIMABLE)) === 0);
    }
    await worker.stop();
    return this.#amends.counters.recovered - before;
  }

  ended(): Promise<ReadonlyMap<string, string>> {
    return endedSagas(this.#database);
  }

  /** Everything that is wrong, in words. */
  async check(): Promise<readonly string[]> {
    const status = (await this.#amends.inspect(ID))?.status;
    const { ends } = this.#scenario;
    const wrong =
      status === undefined || ends.includes(status)
        ? []
        : [`S-09: the saga ended ${status}, not ${ends.join(" or ")}`];
    const others = (await this.#play.check?.(status)) ?? [];
    return [...wrong, ...others, ...(await checkInvariants(this.#database, this.#effects))];
  }

  async close(): Promise<void> {
    await this.#amends.close();
    this.#effects.close();
  }

  async #count(states: readonly string[]): Promise<number> {
    const table = this.#database.dialect.table("saga_executions");
    const [row] = await this.#database.query(
      sql`select count(*) as open from ${table} where ${raw("status")} in (${literals(states)})`,
    );
    return Number(row?.["open"]);
  }

  async #until(condition: () => Promise<boolean>): Promise<void> {
    const startedAt = performance.now();
    while (!(await condition())) {
      if (performance.now() - startedAt > PATIENCE_MS) throw new Error("work was left stranded");
      await new Promise((resolve) => setTimeout(resolve, 40));
    }
  }
}
