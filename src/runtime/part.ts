/**
 * The interface between `new Amends` and its parts (events, calls, webhooks, erasure, retention). All parts share
 * the database, the worker, the logger and the shutdown.
 */
import type { Clock } from "../storage/clock.ts";
import type { Database } from "../storage/database.ts";
import { BRIEF_RETRIES, type DatabaseWatch, type RetryLimits } from "../storage/retry.ts";
import type { RefusedWrites } from "../storage/write/refused-writes.ts";
import type { Duty } from "./duty.ts";
import { newId } from "./identifiers.ts";
import type { WorkerHealth } from "./polling/loop.ts";
import { untraced, type Tracer } from "./trace.ts";

export interface PartContext<Tx = unknown> {
  /** Throws NOT_SUPPORTED with a custom saga storage. */
  readonly database: Database<Tx>;
  readonly clock: Clock;
  /** A unique id of this process start. */
  readonly owner: string;
  /** The default lease: how long a crashed worker keeps its claims. */
  readonly leaseMs: number;
  /** The grace period of a call after its timeout. */
  readonly graceMs: number;
  /** Error codes of the application that may be stored as labels. */
  readonly errorCodes: ReadonlySet<string>;
  /** True if error messages are stored beside their labels. */
  readonly keepMessages: boolean;
  /** Does nothing without tracing. */
  readonly tracer: Tracer;
  /** Aborts when the Amends is closed: waiting for the database ends then. */
  readonly closing: AbortSignal;
  newId(): string;
  /** Whether the worker that runs here makes progress; undefined if none runs. */
  workerHealth(): WorkerHealth | undefined;
  /** What an operation reports trouble with the database to. The log gets the beginning and the end of an outage. */
  watch(operation: string): DatabaseWatch;
  /** Reports outcomes that the database refuses to record for a lasting reason, or that it no longer does. */
  onRefused(operation: string, refused: RefusedWrites): void;
  /** Reports an unexpected error (a bug). The row is claimed again after its lease. */
  onBug(error: unknown): void;
  /** Logs a warning for operators: ids, names and labels, never personal data. */
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  /** The same for something that needs an operator. */
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}

/** The interface of a part. */
export interface Part {
  /** The duties of the part. Read at each start of a worker. */
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

/** The retry limits of a part's database work. */
export function retryLimitsOf(host: Pick<PartContext, "closing" | "watch">, operation: string): RetryLimits {
  return { ...BRIEF_RETRIES, signal: host.closing, watch: host.watch(operation) };
}

const GRACE_MS = 10_000;
const LEASE_MS = 60_000;

/** For the low-level classes, which have only a database: no logger, no tracing, no shutdown. */
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
    workerHealth: () => undefined,
    watch: () => ({ trouble: ignore, answered: ignore }),
    onRefused: ignore,
    onBug: ignore,
    warn: ignore,
    error: ignore,
  };
}
