/**
 * The sagas that this process knows, by name and version. Two definitions with the same name, version and plan are one:
 * a module that was loaded again, or two bundles in one process, must not keep a saga from running.
 */
import { AmendsError } from "../../core/errors.ts";
import { encodePlan } from "../../core/saga/plan.ts";
import { waitFor } from "../../core/saga/steps/wait.ts";
import type { AnySaga } from "./definition.ts";
import { mismatchOf, type TransactionOffer } from "./transaction-kind.ts";
import type { Kind, KnownKind } from "../journal/journal.ts";

export class Registry {
  readonly #sagas = new Map<string, AnySaga>();
  readonly #offer: TransactionOffer | undefined;

  /** `offer` is undefined for a storage of the user's own, which has no transactions to offer. */
  constructor(sagas: readonly AnySaga[], offer: TransactionOffer | undefined) {
    this.#offer = offer;
    for (const saga of sagas) this.add(saga);
  }

  /** Takes the place of one with the same name, version and plan. Beside a running worker, only that. */
  add(saga: AnySaga, isWorking: boolean = false): void {
    if (isWorking && this.get(saga?.name, saga?.version) === undefined) {
      throw new AmendsError(
        "NOT_ALLOWED_NOW",
        `Saga ${saga?.name} was registered while a worker runs. Register sagas before \`worker.start()\`.`,
      );
    }
    this.#check(saga);
    const key = keyOf(saga);
    const known = this.#sagas.get(key);
    if (known && !isSame(known, saga)) {
      throw bad(
        `Saga ${saga.name} is registered twice with version ${saga.version} and different steps: ${encodePlan(known.plan)}, and ${encodePlan(saga.plan)}. Give one of them another version.`,
      );
    }
    this.#sagas.set(key, saga);
  }

  get(name: string, version: number): AnySaga | undefined {
    return this.#sagas.get(keyOf({ name, version }));
  }

  get all(): readonly AnySaga[] {
    return [...this.#sagas.values()];
  }

  require(saga: AnySaga): void {
    const known = this.get(saga.name, saga.version);
    if (known && isSame(known, saga)) return;
    const { name, version } = saga;
    const registered = [...this.#sagas.keys()].join(", ") || "none";
    throw new AmendsError(
      "UNKNOWN_SAGA",
      known
        ? `Saga ${name} (version ${version}) is registered in this process with other steps: ${encodePlan(known.plan)}, not ${encodePlan(saga.plan)}. Give one of them another version.`
        : `Saga ${name} (version ${version}) is not registered in this process (registered: ${registered}). Pass it in \`sagas\`, or call \`amends.register\`.`,
      { name, version },
    );
  }

  kinds(): readonly KnownKind[] {
    return this.all.map(({ name, version, plan, settings }) => ({
      name,
      version,
      plan,
      deadlineMs: settings.deadlineMs,
    }));
  }

  #check(saga: AnySaga): void {
    if (!Array.isArray((saga as Partial<AnySaga> | undefined)?.steps)) {
      throw bad("`sagas` takes what `saga(…)` makes, and nothing else.");
    }
    if (saga.steps.length === 0) throw bad(`Saga ${saga.name} has no steps.`);
    const offer = this.#offer;
    if (offer === undefined && saga.stalled) {
      throw bad(
        `Saga ${saga.name}, onStalled: a custom \`storage\` has no outbox for its call. Use the option \`onStalled\` of \`new Amends\`.`,
      );
    }
    for (const { name, transaction, planned, enqueues } of saga.steps) {
      if (offer === undefined && planned.wait && planned.wait.kind !== "sleep") {
        throw bad(
          `Saga ${saga.name}, step ${name}: it waits for ${waitFor(planned.wait)}, which a custom \`storage\` cannot keep. Use \`postgres\` or \`sqlite\` for that.`,
        );
      }
      if (offer === undefined && planned.repeat?.until) {
        throw bad(
          `Saga ${saga.name}, step ${name}: it repeats until ${waitFor(planned.repeat.until)} arrives, which a custom \`storage\` cannot keep. Use \`postgres\` or \`sqlite\` for that.`,
        );
      }
      if (offer === undefined && planned.child !== undefined) {
        throw bad(
          `Saga ${saga.name}, step ${name}: it starts a child saga, which a custom \`storage\` cannot link to its parent. Use \`postgres\` or \`sqlite\` for that.`,
        );
      }
      if (offer === undefined && enqueues) {
        throw bad(
          `Saga ${saga.name}, ${name}: a custom \`storage\` has no outbox for its call. Use \`postgres\` or \`sqlite\` for that.`,
        );
      }
      const mismatch = transaction && mismatchOf(transaction, offer);
      if (mismatch !== undefined) throw bad(`Saga ${saga.name}, step ${name}: it ${mismatch}`);
    }
  }
}

function isSame(one: AnySaga, other: AnySaga): boolean {
  return one === other || encodePlan(one.plan) === encodePlan(other.plan);
}

function keyOf({ name, version }: Kind): string {
  return `${name}@${version}`;
}

function bad(message: string): AmendsError {
  return new AmendsError("BAD_DEFINITION", message);
}
