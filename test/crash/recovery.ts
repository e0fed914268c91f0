/** What another process does after a crash: takes up whatever is open, until nothing is; then everything is checked. */
import { Amends } from "amends";
import type { Database } from "../../src/storage/database.ts";
import { Effects, recorder } from "../support/effects.ts";
import { checkInvariants, endedSagas } from "../support/invariants.ts";
import { checkFlows, endedFlows, strandedFlows } from "../support/flow-invariants.ts";
import { checkOutbox, settledEntries } from "../support/outbox-invariants.ts";
import { termsOf } from "./flows.ts";
import { openPlace, type Place } from "./place.ts";
import { describeOpen, heldEntries, openWork, stuckWork } from "./standing.ts";
import { FlowThief } from "./flow-thief.ts";
import { Thief } from "./thief.ts";
import { ID, rolesOf, type Play, type Scenario } from "./scenario.ts";
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
  readonly #thief: Pick<Thief, "take" | "giveBack">;
  readonly #world: World;

  private constructor(scenario: Scenario, place: Place, database: Database) {
    this.#scenario = scenario;
    this.#database = database;
    this.#effects = new Effects(place.effects);
    this.#world = new World(
      place,
      this.#effects,
      database,
      (id) => this.cancel(id),
      async () => undefined,
    );
    this.#play = scenario.play(this.#world);
    const roles = rolesOf(this.#play);
    const options = { database, ...roles, lease: LEASE_MS, middleware: [recorder(this.#effects)] };
    this.#amends = new Amends({ ...options, ...this.#play.parts?.(LEASE_MS) });
    this.#operator = new Amends(options);
    this.#thief = this.#play.eventSaga ? new FlowThief(database, this.#play) : new Thief(database);
    this.#play.meet?.(this.#amends);
  }

  static async open(scenario: Scenario, place: Place): Promise<Recovery> {
    return new Recovery(scenario, place, await openPlace(place));
  }

  /** Another process than the worker's cancels. */
  async cancel(id: string): Promise<void> {
    await this.#operator.cancel(id, { reason: "the customer changed her mind" });
  }

  /** Works until nothing is open. Returns how much it took away from somebody who had not given it back. */
  async run(): Promise<number> {
    const before = this.#amends.counters.recovered;
    const held = await heldEntries(this.#database);
    const worker = this.#amends.worker({ poll: 50 });
    await worker.start();
    await this.#untilNothingIsOpen();
    if (this.#play.operate && (await stuckWork(this.#database)) > 0) {
      await this.#play.operate(this.#operator);
      await this.#untilNothingIsOpen();
    }
    await worker.stop();
    const now = await heldEntries(this.#database);
    const entries = [...held].filter(([id, token]) => now.get(id) !== token);
    return this.#amends.counters.recovered - before + entries.length;
  }

  /** Takes away what the process that sleeps holds, and holds it. Returns how much that was. */
  take(): Promise<number> {
    return this.#thief.take();
  }

  /** Whatever was taken must still be held; then it is given back. Says what was not. */
  giveBack(): Promise<readonly string[]> {
    return this.#thief.giveBack();
  }

  /** Everything that has come to rest, as text. */
  async ended(): Promise<ReadonlyMap<string, string>> {
    const sagas = [...(await endedSagas(this.#database))].map(([id, text]) => [`saga ${id}`, text] as const);
    const entries = [...(await settledEntries(this.#database))];
    const flows = [...(await endedFlows(this.#database))];
    return new Map([
      ...sagas,
      ...flows.map(([id, text]) => [`run ${id}`, text] as const),
      ...entries.map(([id, text]) => [`entry ${id}`, text] as const),
    ]);
  }

  /** What is wrong with the entries as they are, at any moment. */
  async glance(): Promise<readonly string[]> {
    const { outbox } = this.#scenario;
    const flows = await this.#checkFlows(false);
    // An event that was told to a sink outside is ahead of the books until somebody has caught up.
    const isTold = outbox && !outbox.isForeign;
    return isTold ? [...flows, ...(await checkOutbox(this.#database, outbox, this.#world))] : flows;
  }

  #checkFlows(isOver: boolean): Promise<readonly string[]> {
    const terms = termsOf(this.#play, this.#scenario.flowEnds ?? []);
    return terms ? checkFlows(this.#database, terms, this.#world, isOver) : Promise.resolve([]);
  }

  /** Everything that is wrong, in words. */
  async check(): Promise<readonly string[]> {
    const { ends = [], outbox } = this.#scenario;
    const wrong: string[] = [];
    // A log that cannot be added up must not stop the checker: the invariants say which line is wrong.
    const saga = await this.#amends.inspect(ID).catch((error: unknown) => {
      wrong.push(`K-14: the log of saga ${ID} cannot be read: ${String(error)}`);
    });
    const status = saga?.status;
    if (status !== undefined && !ends.includes(status))
      wrong.push(`S-09: the saga ended ${status}, not ${ends.join(" or ")}`);
    const others = (await this.#play.check?.(status)) ?? [];
    const entries = outbox ? await checkOutbox(this.#database, outbox, this.#world) : [];
    const flows = await this.#checkFlows(true);
    return [
      ...wrong,
      ...others,
      ...entries,
      ...flows,
      ...(await checkInvariants(this.#database, this.#effects)),
    ];
  }

  async close(): Promise<void> {
    await this.#amends.close();
    this.#world.close();
  }

  async #untilNothingIsOpen(): Promise<void> {
    const startedAt = performance.now();
    while ((await openWork(this.#database)) > 0) {
      // The checker says what is wrong with those.
      if ((await strandedFlows(this.#database)) > 0) return;
      if (performance.now() - startedAt > PATIENCE_MS)
        throw new Error(`work was left stranded: ${await describeOpen(this.#database)}`);
      await new Promise((resolve) => setTimeout(resolve, 40));
    }
  }
}
