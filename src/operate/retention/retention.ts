/**
 * Removes or archives ended work in bounded batches, as one of the worker's chores. Open work stays, and so do
 * attention items. The trails of operator actions and of erasures are append-only: no policy removes them. A saga's id
 * is free again once the saga is removed, so keep sagas for longer than a start may be repeated.
 */
import { isOutage, AmendsError, errorLabel } from "../../core/errors.ts";
import { refuseArguments, refuseUnknown } from "../../core/options.ts";
import type { SagaView } from "../../sagas/view/view.ts";
import { persist } from "../../storage/retry.ts";
import { checkRole, setRole } from "../../storage/postgres/rights/role.ts";
import { NEVER_MS } from "../../runtime/chore.ts";
import type { Duty, Leaving } from "../../runtime/duty.ts";
import { retryLimitsOf, type PartContext } from "../../runtime/part.ts";
import { choresOf, type Chore, type Swept, type Transact } from "./chores.ts";
import { checkPolicy, type RetentionPolicy } from "./policy.ts";

/** The option `retention` of `new Amends`. */
export interface RetentionOptions extends RetentionPolicy {
  /** The number of rows that one transaction removes. Default: 500. */
  readonly batch?: number;
  /**
   * PostgreSQL only: the role that removes rows, such as `amends_retention` of `migrate({ roles: true })`. The
   * connecting user must be a member of it and needs no delete privilege.
   */
  readonly role?: string;
}

const OPTIONS = ["sagas", "flows", "outbox", "webhooks", "bulk", "batch", "role"];
type Inspect = (id: string) => Promise<SagaView | undefined>;

const BATCH_MAX = 5_000;
/** How long it rests when nothing is left to remove. */
const REST_MS = 60_000;

/** Removes or archives ended sagas, events and deliveries: `amends.retention`. */
export class Retention {
  /** @internal */
  readonly duties: readonly Duty[];
  readonly #sweeper: Sweeper;

  constructor(context: PartContext, options: RetentionOptions, inspect: Inspect) {
    refuseUnknown(options, OPTIONS, "new Amends({ retention })");
    const { batch = 500, role, ...policy } = options;
    if (!Number.isInteger(batch) || batch < 1 || batch > BATCH_MAX) {
      throw new AmendsError("BAD_OPTION", `retention.batch must be a whole number of 1 to ${BATCH_MAX}.`);
    }
    const transact = transactAs(context, role);
    this.#sweeper = new Sweeper(context, choresOf(checkPolicy(policy), { transact, batch, inspect }));
    this.duties = [this.#sweeper];
  }

  /**
   * Removes one batch of each kind with a policy, and returns the number of rows. The worker calls it; without a
   * worker, call it yourself.
   */
  async runOnce(...given: []): Promise<number> {
    refuseArguments(given, "amends.retention.runOnce");
    return this.#sweeper.runOnce();
  }
}

/** The duty that the worker drives. */
class Sweeper implements Duty {
  readonly name: string = "retention";
  readonly capacity: number = 1;
  readonly renewEveryMs: number = NEVER_MS;
  readonly #context: PartContext;
  readonly #chores: readonly Chore[];
  #restUntilMs = Number.NEGATIVE_INFINITY;
  #isAccepted = false;

  constructor(context: PartContext, chores: readonly Chore[]) {
    this.#context = context;
    this.#chores = chores;
  }

  get room(): number {
    return this.#isAccepted && this.#context.clock.monotonicMs() >= this.#restUntilMs ? 1 : 0;
  }

  accept(): void {
    this.#isAccepted = true;
  }

  async claim(): Promise<readonly Leaving[]> {
    const { more, trouble } = await this.#sweep();
    for (const error of trouble) {
      if (isOutage(error)) {
        this.#context.watch("retention").trouble(error);
        continue;
      }
      const label = errorLabel(error);
      this.#context.warn({ error: label }, "amends: a chore of retention failed; trying again in a minute");
    }
    if (!more || trouble.length > 0) this.#restUntilMs = this.#context.clock.monotonicMs() + REST_MS;
    return [];
  }

  async renew(): Promise<boolean> {
    return false;
  }

  async drain(): Promise<void> {
    this.#isAccepted = false;
  }

  async runOnce(): Promise<number> {
    const { removed, trouble } = await this.#sweep();
    if (trouble.length > 0) throw trouble[0];
    return removed;
  }

  /** A chore that fails does not stop the others. */
  async #sweep(): Promise<Swept & { readonly trouble: readonly unknown[] }> {
    let [removed, more] = [0, false];
    const trouble: unknown[] = [];
    for (const chore of this.#chores) {
      try {
        const swept = await chore();
        removed += swept.removed;
        more ||= swept.more;
      } catch (error) {
        trouble.push(error);
      }
    }
    return { removed, more, trouble };
  }
}

function transactAs(context: PartContext, role: string | undefined): Transact {
  const { database } = context;
  if (role !== undefined) checkRole(database.dialect, role);
  const retryLimits = retryLimitsOf(context, "retention");
  return (work) =>
    persist(
      database,
      () =>
        database.transaction(async (session) => {
          if (role !== undefined) await setRole(session, role);
          return work(session);
        }),
      retryLimits,
    );
}
