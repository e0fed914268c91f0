/** Notifies the logger and the hooks of one Amends. Its fields are ids, names and labels, never personal data. */
import { isOutage } from "../../core/errors.ts";
import { outcomeOf } from "../../sagas/view/outcome.ts";
import type { JournalHost } from "../../sagas/engine/journal-host.ts";
import type { StalledSignal } from "../amends-options.ts";
import { stackOf, type Logger } from "./logger.ts";
import { adviceOf, type Outages } from "./outages.ts";

export class Notices {
  readonly #logger: Logger;
  readonly #outages: Outages;
  readonly #onStalled: ((signal: StalledSignal) => unknown) | undefined;

  constructor(logger: Logger, outages: Outages, onStalled: ((signal: StalledSignal) => unknown) | undefined) {
    this.#logger = logger;
    this.#outages = outages;
    this.#onStalled = onStalled;
  }

  stalled({ id, definition, state }: Pick<JournalHost, "id" | "definition" | "state">): void {
    const outcome = outcomeOf(id, state);
    if (outcome?.status !== "STALLED") return;
    const signal: StalledSignal = { id, saga: definition.name, step: outcome.step, reason: outcome.reason };
    this.#logger.error({ ...signal }, "amends: a saga has stalled and needs a person");
    const failed = (): void => this.#logger.warn({ id }, "amends: onStalled failed");
    try {
      Promise.resolve(this.#onStalled?.(signal)).catch(failed);
    } catch {
      failed();
    }
  }

  rewound({ id, definition, version }: JournalHost, foundVersion: number | undefined): void {
    const fields = { id, saga: definition.name, version, found: foundVersion };
    this.#logger.error(
      fields,
      foundVersion === undefined
        ? "amends: the database no longer has a saga that ran here: it went back in time; see docs/guides/failover.md"
        : "amends: the database has forgotten steps of a saga that ran here: it went back in time; see docs/guides/failover.md",
    );
  }

  /** An error that was not expected; a database that is away or lacks a right is reported as that. */
  bug(error: unknown): void {
    if (isOutage(error)) return this.#outages.trouble("run work", error);
    this.#logger.error(
      { error: stackOf(error), ...adviceOf(error) },
      "amends: unexpected error; the work is claimed again when its lease expires",
    );
  }

  /** A step that may take longer than a run with a budget has for work. */
  longStep(saga: string, step: string, timeoutMs: number, workMs: number): void {
    const [may, has] = [timeoutMs, workMs].map((ms) => `${Number((ms / 1_000).toFixed(1))}s`);
    this.#logger.warn(
      { saga, step, timeoutMs, workMs },
      `amends: step ${step} may take ${may}, and a run has ${has} for work: it may never finish. Give the step a shorter \`timeout\`, or the run a larger \`budget\``,
    );
  }

  /** Open sagas whose definition this process does not have. */
  unknownKind(saga: string, version: number, sagas: number): void {
    this.#logger.warn(
      { saga, version, sagas },
      "amends: open sagas of a kind that is not registered here are left alone",
    );
  }
}
