/** The earliest time at which work that is recorded now may be claimed. */
import { durationMs, type Duration } from "../duration.ts";
import { AmendsError } from "../errors.ts";

/** An instant in milliseconds since the epoch, or a delay. Both are compared with the database's clock. */
export type Gate =
  | { readonly atMs: number; readonly afterMs?: undefined }
  | { readonly afterMs: number; readonly atMs?: undefined };

export interface GivenGate {
  readonly runAt?: Date | undefined;
  readonly delay?: Duration | undefined;
}

/** A hundred years: a database could not add much more to an instant. */
const DELAY_MAX_MS = 100 * 365 * 86_400_000;

/** Undefined if the work is due at once. */
export function readGate({ runAt, delay }: GivenGate, where: string): Gate | undefined {
  const refuse = (why: string, field: string): never => {
    throw new AmendsError("BAD_OPTION", `${where}: ${why}. Nothing was written.`, { field });
  };
  if (runAt !== undefined && delay !== undefined) return refuse("give `runAt` or `delay`, not both", "runAt");
  if (delay !== undefined) {
    const afterMs = durationMs(delay, `${where}: \`delay\``);
    return afterMs > DELAY_MAX_MS ? refuse("`delay` must be at most 36500d", "delay") : { afterMs };
  }
  if (runAt === undefined) return undefined;
  const atMs = runAt instanceof Date ? runAt.getTime() : Number.NaN;
  if (!Number.isFinite(atMs)) return refuse("`runAt` must be a valid Date", "runAt");
  // A database may have no instants as early as a Date has. All of these are over.
  return { atMs: Math.max(0, atMs) };
}

/** How long a worker of this process may wait before it looks. A hint: the database's clock decides. */
export function opensInMs(gate: Gate | undefined, nowMs: number): number {
  if (!gate) return 0;
  return gate.afterMs ?? Math.max(0, gate.atMs - nowMs);
}
