/**
 * What `new Amends` gives to each part (events, calls, webhooks, erasure, retention), and what it asks of one. A part
 * shares the database, the worker, the logger and the shutdown with the others; what it does with them is its own.
 */
import type { Clock } from "../storage/clock.ts";
import type { Database } from "../storage/database.ts";
import { BRIEF_RETRIES, type RetryLimits } from "../storage/retry.ts";
import type { Duty } from "./duty.ts";
import { newId } from "./identifiers.ts";
import { untraced, type Tracer } from "./trace.ts";

export interface PartContext<Tx = unknown> {
  /** Throws NOT_SUPPORTED if sagas live in a storage of the user's own. */
  readonly database: Database<Tx>;
  readonly clock: Clock;
  /** Names this start of this process. It is never used again. */
  readonly owner: string;
  /** How long a worker that vanished keeps what it has claimed, unless a part has a lease of its own. */
  readonly leaseMs: number;
  /** How long a call whose time is over may still take to return. */
  readonly graceMs: number;
  /** Codes of the user's own errors that may be stored as labels. */
  readonly errorCodes: ReadonlySet<string>;
  /** Whether the messages of errors are stored beside their labels. */
  readonly keepMessages: boolean;
  /** Does nothing if nobody traces. */
  readonly tracer: Tracer;
  /** Fires when the Amends is closed: nothing waits for the database any longer. */
  readonly closing: AbortSignal;
  newId(): string;
  /** How long ago the database last answered the worker that runs here; undefined if none runs. */
  answeredMsAgo(): number | undefined;
  /** Trouble with the database that passes. The logger gets it as a warning. */
  onTrouble(error: unknown, attempt: number): void;
  /** An error that nobody foresaw; the lease heals it. */
  onBug(error: unknown): void;
  /** What an operator should know: ids, names and labels, never personal data. */
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  /** The same for what needs a person now. */
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}

/** A part as `new Amends` drives it. */
export interface Part {
  /** What the worker drives. Read at each start of a worker. */
  readonly duties: readonly Duty[];
  /** Called after the worker has stopped and before the database is closed. */
  close?(): Promise<void>;
}

/** The options of `publish`. */
export interface PublishOptions<Tx = unknown> {
  /**
   * Your own open transaction: the event exists if and only if it commits. Without one, the event is durable when
   * `publish` resolves.
   */
  readonly tx?: Tx;
}

/** How a part waits for the database. */
export function retryLimitsOf(host: Pick<PartContext, "closing" | "onTrouble">): RetryLimits {
  return {
    ...BRIEF_RETRIES,
    signal: host.closing,
    onTrouble: (error, attempt) => host.onTrouble(error, attempt),
  };
}

const GRACE_MS = 10_000;
const LEASE_MS = 60_000;

/** For the low-level classes, which work on a database alone: nobody logs, traces or shuts them down. */
export function standalone<Tx>(database: Database<Tx>): PartContext<Tx> {
  const ignore = (): void => undefined;
  return {
    database,
    clock: database.clock,
    owner: newId(),
    leaseMs: LEASE_MS,
    graceMs: GRACE_MS,
    errorCodes: new Set(),
    keepMessages: false,
    tracer: untraced,
    closing: new AbortController().signal,
    newId,
    answeredMsAgo: () => undefined,
    onTrouble: ignore,
    onBug: ignore,
    warn: ignore,
    error: ignore,
  };
}
