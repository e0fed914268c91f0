/**
 * What an Amends lends to the parts that are made beside it (`new Erasure({ amends, … })`): its database and its
 * worker. The key is a symbol, so that none of it stands among the methods that users call.
 */
import type { Clock } from "../storage/clock.ts";
import type { Database } from "../storage/database.ts";
import { BRIEF_RETRIES, type RetryLimits } from "../storage/retry.ts";
import type { Duty } from "./duty.ts";
import type { Tracer } from "./trace.ts";

export const HOST: unique symbol = Symbol.for("amends.host") as never;

export interface PartContext<Tx = unknown> {
  /** Throws NOT_SUPPORTED where sagas live in a storage of the user's own. */
  readonly database: Database<Tx>;
  readonly clock: Clock;
  /** How long a call whose time is over may still take to return. */
  readonly graceMs: number;
  /** Does nothing where nobody traces. */
  readonly tracer: Tracer;
  /** Fires when the Amends is closed: nothing waits for the database any longer. */
  readonly closing: AbortSignal;
  newId(): string;
  /** The worker of this Amends drives it from its next start on. */
  addDuty(duty: Duty): void;
  /** How long ago the database last answered the worker that runs here; undefined where none runs. */
  answeredMsAgo(): number | undefined;
  /** Trouble with the database that passes, told to the logger. */
  onTrouble(error: unknown, attempt: number): void;
  /** Something that nobody foresaw; the lease heals it. */
  onBug(error: unknown): void;
  /** What an operator should know: ids, names and labels, never personal data. */
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
}

/** How a part beside the Amends waits for the database. */
export function retryLimitsOf(host: Pick<PartContext, "closing" | "onTrouble">): RetryLimits {
  return {
    ...BRIEF_RETRIES,
    signal: host.closing,
    onTrouble: (error, attempt) => host.onTrouble(error, attempt),
  };
}

export interface Hosting<Tx = unknown> {
  readonly [HOST]: PartContext<Tx>;
}
