/** The worker that takes over after a crash. It runs until no work is open, and then checks all invariants. */
import { Amends } from "amends";
import type { Database } from "../../../src/storage/database.ts";
import { Effects, recorder } from "../external-world/effects.ts";
import { checkSagaInvariants, endedSagas } from "../checkers/saga-invariants.ts";
import { checkFlowInvariants, endedFlows, strandedFlows } from "../checkers/flow-invariants.ts";
import { checkOutboxInvariants, settledEntries } from "../checkers/outbox-invariants.ts";
import { flowExpectations } from "../scenarios/events/order-workload.ts";
import { openSandbox, type Sandbox } from "./sandbox.ts";
import { describeOpen, describeTables, heldEntries, openWork, stuckWork } from "./open-work.ts";
import { DeliveryCompetitor } from "./delivery-competitor.ts";
import { EntryCompetitor } from "./entry-competitor.ts";
import { retryingReads } from "./retrying-database.ts";
import { ID, definitionsOf, type Workload, type Scenario } from "../scenarios/scenario.ts";
import { World } from "../external-world/world.ts";

/** Long, so that the recovery worker does not lose its own claims. */
const LEASE_MS = 2_000;
/** Only ends a recovery that hangs: on a busy machine twenty of them share one process. */
const LIMIT_MS = 180_000;

export class RecoveryWorker {
  readonly #scenario: Scenario;
  readonly #database: Database;
  readonly #effects: Effects;
  readonly #workload: Workload;
  readonly #amends: Amends;
  readonly #operator: Amends;
  readonly #competitor: Pick<EntryCompetitor, "claimHeld" | "release">;
  readonly #world: World;

  private constructor(scenario: Scenario, sandbox: Sandbox, database: Database) {
    this.#scenario = scenario;
    this.#database = retryingReads(database);
    this.#effects = new Effects(sandbox.effects);
    this.#world = new World(
      sandbox,
      this.#effects,
      database,
      (id) => this.cancel(id),
      async () => undefined,
    );
    this.#workload = scenario.workload(this.#world);
    const definitions = definitionsOf(this.#workload);
    const options = { database, ...definitions, lease: LEASE_MS, middleware: [recorder(this.#effects)] };
    this.#amends = new Amends({ ...options, ...this.#workload.parts?.(LEASE_MS) });
    this.#operator = new Amends(options);
    this.#competitor = this.#workload.eventSaga
      ? new DeliveryCompetitor(database, this.#workload)
      : new EntryCompetitor(database);
    this.#workload.onAmends?.(this.#amends);
  }

  static async open(scenario: Scenario, sandbox: Sandbox): Promise<RecoveryWorker> {
    return new RecoveryWorker(scenario, sandbox, await openSandbox(sandbox));
  }

  /** Cancels a saga from a process that does not run it. */
  async cancel(id: string): Promise<void> {
    await this.#operator.cancel(id, { reason: "the customer changed her mind" });
  }

  /** Works until nothing is open. Returns the number of sagas and entries that it took over from another claim. */
  async run(): Promise<number> {
    const before = this.#amends.counters.recovered;
    const held = await heldEntries(this.#database);
    await this.#workload.beforeRecovery?.(this.#operator);
    const worker = this.#amends.worker({ poll: 50 });
    await worker.start();
    await this.#untilNothingIsOpen();
    if (this.#workload.operate && (await stuckWork(this.#database)) > 0) {
      await this.#workload.operate(this.#operator);
      await this.#untilNothingIsOpen();
    }
    await worker.stop();
    const now = await heldEntries(this.#database);
    const entries = [...held].filter(([id, token]) => now.get(id) !== token);
    return this.#amends.counters.recovered - before + entries.length;
  }

  /** Claims what the stopped process holds, and keeps the claims. Returns their number. */
  claimHeld(): Promise<number> {
    return this.#competitor.claimHeld();
  }

  /** Releases these claims. Returns a problem for each row that was changed while it was claimed. */
  release(): Promise<readonly string[]> {
    return this.#competitor.release();
  }

  /** The rows of all work that has ended, as text by id. */
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

  /** The violations of what must hold at any moment. */
  async checkBeforeRecovery(): Promise<readonly string[]> {
    const { outbox } = this.#scenario;
    const flows = [...(await this.#checkFlowInvariants(false)), ...(await this.#checkAlways())];
    // An audit sink outside the database may be ahead of the tables until the recovery.
    const isComparable = outbox && !outbox.isForeign;
    return isComparable
      ? [...flows, ...(await checkOutboxInvariants(this.#database, outbox, this.#world))]
      : flows;
  }

  /** The violations of what the scenario says about any moment. */
  async #checkAlways(): Promise<readonly string[]> {
    const { holds } = this.#workload;
    if (!holds) return [];
    const saga = await this.#amends.inspect(ID);
    return holds(saga?.status);
  }

  #checkFlowInvariants(isOver: boolean): Promise<readonly string[]> {
    const expectations = flowExpectations(this.#workload, this.#scenario.flowEnds ?? []);
    return expectations
      ? checkFlowInvariants(this.#database, expectations, this.#world, isOver)
      : Promise.resolve([]);
  }

  /** The violations of everything that must hold after the recovery. */
  async check(): Promise<readonly string[]> {
    const { ends = [], outbox } = this.#scenario;
    const wrong: string[] = [];
    // A log that cannot be replayed must not stop the check: the invariants name the wrong line.
    const saga = await this.#amends.inspect(ID).catch((error: unknown) => {
      wrong.push(`K-14: the log of saga ${ID} cannot be read: ${String(error)}`);
    });
    const status = saga?.status;
    if (status !== undefined && !ends.includes(status))
      wrong.push(`S-09: the saga ended ${status}, not ${ends.join(" or ")}`);
    const others = [...((await this.#workload.check?.(status)) ?? []), ...(await this.#checkAlways())];
    const entries = outbox ? await checkOutboxInvariants(this.#database, outbox, this.#world) : [];
    const flows = await this.#checkFlowInvariants(true);
    return [
      ...wrong,
      ...others,
      ...entries,
      ...flows,
      ...(await checkSagaInvariants(this.#database, this.#effects)),
    ];
  }

  /** The rows of its database, for the report of a violation. */
  tables(): Promise<string> {
    return describeTables(this.#database);
  }

  async close(): Promise<void> {
    await this.#amends.close();
    this.#world.close();
  }

  async #untilNothingIsOpen(): Promise<void> {
    const startedAt = performance.now();
    while ((await openWork(this.#database)) > 0) {
      // The checkers report stranded runs.
      if ((await strandedFlows(this.#database)) > 0) return;
      if (performance.now() - startedAt > LIMIT_MS)
        throw new Error(`work was left stranded: ${await describeOpen(this.#database)}`);
      await new Promise((resolve) => setTimeout(resolve, 40));
    }
  }
}
