/** One kind of work that a worker drives: sagas, outbox entries, events, deliveries, chores. */
export interface Duty {
  /** For logs. */
  readonly name: string;
  /** How many of these run at once in one worker. Default: the worker's concurrency. */
  readonly capacity?: number | undefined;
  /** How often its leases are looked at. */
  readonly renewEveryMs: number;
  /** How many may be claimed now. */
  readonly room: number;
  /** A worker takes over: up to `capacity` run here, and it is told when one becomes due and when a slot is free. */
  accept(capacity: number, onDue: (ms: number) => void, onFree: () => void): void;
  /** Claims up to `limit` and runs them. Each tells when it has left this process. */
  claim(limit?: number): Promise<readonly Leaving[]>;
  renew(): Promise<void>;
  /** Nothing new begins. Resolves when everything has left, or when the deadline has passed and calls were stopped. */
  drain(deadlineMs: number): Promise<void>;
}

/** When to look for rows that the caller's own transaction has written: it commits a little later, without a notice. */
export const COMMIT_SOON_MS = 20;

export interface Leaving {
  readonly gone: Promise<unknown>;
}
