/**
 * The log of trouble with the database: one line when it begins, with the operation and the cause; one a minute while it
 * lasts, with a count; one when it is over. Every loop, writer and call of one Amends reports here, because an outage
 * makes all of them fail many times a second.
 */
import { AmendsError, errorLabel } from "../../core/errors.ts";
import type { DatabaseWatch } from "../../storage/retry.ts";
import type { Clock } from "../../storage/clock.ts";
import type { Logger } from "./logger.ts";

/** The interval of lines while the trouble lasts. Trouble that returns sooner after its end is not announced anew. */
const REMIND_MS = 60_000;
/** Trouble is over when the database answers and nothing has failed for this long. */
const QUIET_MS = 5_000;
const OPERATIONS_MAX = 20;

interface Outage {
  readonly code: string;
  readonly operations: Set<string>;
  readonly beganAtMs: number;
  failures: number;
  lastAtMs: number;
  saidAtMs: number;
  /** False for trouble that returned soon after its end, until its next line. */
  isSaid: boolean;
  /** Stops the check whether it is over. */
  cancel: (() => void) | undefined;
}

export class Outages {
  readonly #logger: Logger;
  readonly #clock: Clock;
  /** By the code of the error: a missing right and a lost server are separate troubles. */
  readonly #open = new Map<string, Outage>();
  readonly #saidAtMs = new Map<string, number>();

  constructor(logger: Logger, clock: Clock) {
    this.#logger = logger;
    this.#clock = clock;
  }

  /** What one operation reports with. */
  watch(operation: string): DatabaseWatch {
    return {
      trouble: (error) => this.trouble(operation, error),
      answered: () => this.#answered(),
    };
  }

  trouble(operation: string, error: unknown): void {
    const code = errorLabel(error);
    const nowMs = this.#clock.monotonicMs();
    const outage = this.#open.get(code) ?? this.#begin(code, operation, error, nowMs);
    outage.failures++;
    outage.lastAtMs = nowMs;
    if (outage.operations.size < OPERATIONS_MAX) outage.operations.add(operation);
    if (nowMs - outage.saidAtMs < REMIND_MS) return;
    outage.saidAtMs = nowMs;
    outage.isSaid = true;
    const fields = { ...fieldsOf(outage, nowMs), ...adviceOf(error) };
    this.#logger.warn(fields, "amends: the trouble with the database lasts; trying again");
  }

  /** Nothing is checked any more. */
  close(): void {
    for (const { cancel } of this.#open.values()) cancel?.();
    this.#open.clear();
  }

  #begin(code: string, operation: string, error: unknown, nowMs: number): Outage {
    const saidAtMs = this.#saidAtMs.get(code) ?? Number.NEGATIVE_INFINITY;
    const isSaid = nowMs - saidAtMs >= REMIND_MS;
    const outage: Outage = {
      code,
      operations: new Set(),
      beganAtMs: nowMs,
      failures: 0,
      lastAtMs: nowMs,
      saidAtMs: isSaid ? nowMs : saidAtMs,
      isSaid,
      cancel: undefined,
    };
    this.#open.set(code, outage);
    if (isSaid) {
      const fields = { operation, code, ...adviceOf(error) };
      this.#logger.warn(fields, "amends: trouble with the database; trying again");
    }
    return outage;
  }

  #answered(): void {
    if (this.#open.size === 0) return;
    for (const outage of this.#open.values()) this.#endIfQuiet(outage);
  }

  #endIfQuiet(outage: Outage): void {
    if (outage.cancel) return;
    const nowMs = this.#clock.monotonicMs();
    const { lastAtMs, code } = outage;
    const restMs = lastAtMs + QUIET_MS - nowMs;
    if (restMs > 0) {
      outage.cancel = this.#clock.after(restMs, () => {
        outage.cancel = undefined;
        // The next answer looks again if something has failed meanwhile.
        if (outage.lastAtMs === lastAtMs) this.#endIfQuiet(outage);
      });
      return;
    }
    this.#open.delete(code);
    this.#saidAtMs.set(code, outage.isSaid ? nowMs : outage.saidAtMs);
    if (outage.isSaid)
      this.#logger.info(fieldsOf(outage, lastAtMs), "amends: the trouble with the database is over");
  }
}

function fieldsOf({ code, operations, failures, beganAtMs }: Outage, nowMs: number): Record<string, unknown> {
  const seconds = Math.round((nowMs - beganAtMs) / 1_000);
  return { code, failures, seconds, operations: [...operations] };
}

/** The database's own code, the object it names, and what to do: never a value. */
export function adviceOf(error: unknown): Readonly<Record<string, unknown>> {
  if (!(error instanceof AmendsError)) return {};
  return { ...error.details, advice: error.message };
}
