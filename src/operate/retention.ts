/**
 * Ended sagas are removed after a while, in bounded batches, as one of the worker's chores. Whoever wants to keep them
 * elsewhere is given each batch first: what could not be kept is not removed. An id is free again afterwards, so the
 * time must be longer than anybody may repeat a start.
 */
import { positiveMs, type Duration } from "../core/duration.ts";
import { AmendsError } from "../core/errors.ts";
import { refuseUnknown } from "../core/options.ts";
import { sagaMachine, type SagaStatus } from "../core/saga/machine.ts";
import { deleteSignals } from "../sagas/signal-queries.ts";
import type { SagaView } from "../sagas/view.ts";
import { persist } from "../storage/retry.ts";
import type { Duty, Leaving } from "../work/duty.ts";
import { HOST, patienceOf, type Host, type Hosting } from "../work/host.ts";
import { deleteLogs, deleteSagas, selectExpired } from "./retention-queries.ts";

export interface RetentionOptions {
  readonly amends: Hosting & { inspect(id: string): Promise<SagaView | undefined> };
  /** How long after its end a saga is kept. */
  readonly completed?: Duration;
  readonly failed?: Duration;
  /** Called with each batch before it is removed, perhaps more than once. What it throws keeps the batch. */
  readonly archive?: (sagas: readonly SagaView[]) => unknown;
  /** How many at once. 500 unless said otherwise. */
  readonly batch?: number;
}

const BATCH_MAX = 5_000;
/** How long it rests when nothing is left to remove. */
const REST_MS = 60_000;

export class Retention implements Duty {
  readonly name: string = "retention";
  readonly capacity: number = 1;
  readonly renewEveryMs: number = 3_600_000;
  readonly #host: Host;
  readonly #options: RetentionOptions;
  readonly #batch: number;
  readonly #policies: readonly (readonly [status: SagaStatus, afterMs: number])[];
  #restUntilMs = Number.NEGATIVE_INFINITY;
  #isAccepted = false;

  /** The worker of this Amends drives it from its next start on; without one, call `runOnce`. */
  constructor(options: RetentionOptions) {
    refuseUnknown(options, ["amends", "completed", "failed", "archive", "batch"], "new Retention");
    const { amends, completed, failed, batch = 500 } = options;
    if (!Number.isInteger(batch) || batch < 1 || batch > BATCH_MAX) {
      throw new AmendsError("BAD_OPTION", `\`batch\` must be a whole number of 1 to ${BATCH_MAX}.`);
    }
    const given = { COMPLETED: completed, FAILED: failed };
    this.#policies = sagaMachine.terminal.flatMap((status) => {
      const after = given[status as keyof typeof given];
      return after === undefined ? [] : [[status, positiveMs(after, status.toLowerCase())] as const];
    });
    if (this.#policies.length === 0) {
      throw new AmendsError("BAD_OPTION", "Say how long to keep sagas: `completed`, `failed`, or both.");
    }
    this.#options = options;
    this.#batch = batch;
    this.#host = amends[HOST];
    this.#host.employ(this);
  }

  get room(): number {
    return this.#isAccepted && this.#host.clock.monotonicMs() >= this.#restUntilMs ? 1 : 0;
  }

  accept(): void {
    this.#isAccepted = true;
  }

  async claim(): Promise<readonly Leaving[]> {
    if ((await this.runOnce()) === 0) this.#restUntilMs = this.#host.clock.monotonicMs() + REST_MS;
    return [];
  }

  async renew(): Promise<void> {}

  async drain(): Promise<void> {
    this.#isAccepted = false;
  }

  /** Removes one batch of each kind that there is a policy for. Returns how many sagas that were. */
  async runOnce(): Promise<number> {
    let removed = 0;
    for (const [status, afterMs] of this.#policies) removed += await this.#remove(status, afterMs);
    return removed;
  }

  async #remove(status: SagaStatus, afterMs: number): Promise<number> {
    const { database } = this.#host;
    const { dialect } = database;
    const patience = patienceOf(this.#host);
    const expired = selectExpired(dialect, status, afterMs, this.#batch);
    const rows = await persist(database, () => database.query(expired), patience);
    const ids = rows.map((row) => row["id"] as string);
    if (ids.length === 0) return 0;
    await this.#keep(ids);
    const statements = [deleteLogs(dialect, ids), deleteSignals(dialect, ids), deleteSagas(dialect, ids)];
    await persist(database, () => database.batch(statements), patience);
    return ids.length;
  }

  /** Nothing is locked meanwhile: an ended saga does not change. */
  async #keep(ids: readonly string[]): Promise<void> {
    const { archive, amends } = this.#options;
    if (!archive) return;
    const views: SagaView[] = [];
    for (const id of ids) {
      const view = await amends.inspect(id);
      if (view) views.push(view);
    }
    await archive(views);
  }
}
