/** One kind of work that a worker drives: sagas, outbox entries, events, deliveries, chores; and which of them it drives. */
import { AmendsError } from "../core/errors.ts";
import type { Sql } from "../storage/sql.ts";

export interface Duty {
  /** For logs, and for `worker({ only })`. A name with a colon belongs to the part in front of it. */
  readonly name: string;
  /** A worker drives it only if its `only` names it. Default: every worker drives it. */
  readonly isOptional?: boolean | undefined;
  /** The concurrency of this duty in one worker. Default: the worker's concurrency. */
  readonly capacity?: number | undefined;
  /** The interval of lease renewals. */
  readonly renewEveryMs: number;
  /** The number of free slots. */
  readonly room: number;
  /**
   * Attaches a worker with `capacity` slots. The callbacks notify it when work becomes due and when a slot is free.
   */
  accept(capacity: number, onDue: (ms: number) => void, onFree: () => void): void;
  /** Claims up to `limit` rows and runs them. Each lease resolves when its row is settled, released or lost. */
  claim(limit?: number): Promise<readonly Leaving[]>;
  /** Renews the leases that are due. False if there were none, so that the database was not asked. */
  renew(): Promise<boolean>;
  /**
   * Stops claiming. Resolves when all rows are settled or released, or when the deadline has passed and calls were
   * aborted.
   */
  drain(deadlineMs: number): Promise<void>;
  /** Called before a worker begins. Throws if this duty cannot work on the database. */
  check?(): Promise<void>;
  /** A statement that is sent with each sign of life of a worker, in the same commit. Undefined: none. */
  beat?(): Sql | undefined;
  /** What the worker's look reads for this duty. Undefined: the duty is polled. */
  readonly look?: DutyLook | undefined;
}

/**
 * What a worker reads for one duty in the statement that it sends for all of them (polling/look.ts). The answer may be too
 * early, because the claim decides what is due, but never too late.
 */
export interface DutyLook {
  /** A scalar that is read from indexes. Undefined: there is nothing that this duty could claim. */
  expression(): Sql | undefined;
  /** The milliseconds until the duty has work: 0 or less if it has some now, undefined if none is known. */
  read(value: unknown): number | undefined;
}

/** The look of a duty whose expression is the number of milliseconds until it has work, or null. */
export function lookFor(expression: () => Sql | undefined): DutyLook {
  return {
    expression,
    read: (value) => (value === null || value === undefined ? undefined : Number(value)),
  };
}

/** Delays of the polls for rows of a caller's transaction: it commits a little later, without a notification. */
export const COMMIT_SOON_MS = 20;

export interface Leaving {
  readonly gone: Promise<unknown>;
}

type Named = Pick<Duty, "name" | "isOptional">;

/**
 * The duties that a worker drives: all but the optional ones, or those that its `only` names. `webhooks` names every duty of webhooks that is
 * not optional, `webhooks:sender` that one.
 */
export function chooseDuties<D extends Named>(
  duties: readonly D[],
  only: readonly string[] | undefined,
): readonly D[] {
  if (only === undefined) return duties.filter(({ isOptional }) => isOptional !== true);
  const unknown = only.filter((name) => !duties.some((duty) => isMeant(duty, name)));
  if (unknown.length > 0 || only.length === 0) {
    const names = [...new Set(duties.flatMap(({ name }) => [partOf(name), name]))].toSorted();
    const what =
      only.length === 0 ? "`only` is empty" : `This Amends has no duty called ${unknown.join(", ")}`;
    throw new AmendsError("BAD_OPTION", `${what}. A worker's \`only\` names some of: ${names.join(", ")}.`, {
      field: "only",
    });
  }
  return duties.filter((duty) => only.some((name) => isMeant(duty, name)));
}

function isMeant({ name, isOptional }: Named, given: string): boolean {
  return name === given || (partOf(name) === given && isOptional !== true);
}

function partOf(name: string): string {
  return name.split(":", 1)[0] as string;
}
