/**
 * Asks for a renewal of leases. A lease that ends while the database does not answer is let go: another worker may have
 * the row by then, and its call here is told so.
 */
import type { Clock } from "../storage/clock.ts";

export interface Renewable {
  /** Local instant of the last renewal that is known to have succeeded. */
  readonly leasedAtMs: number;
  stop(reason: "lost"): void;
}

/** How often leases are looked at within the time of one: each is renewed when an eighth of it is over. */
export const RENEWALS = 8;

export async function renewOrLetGo<T>(
  clock: Clock,
  leaseMs: number,
  leases: readonly Renewable[],
  renew: () => Promise<T>,
): Promise<T> {
  let cancel: () => void = () => undefined;
  const endsInMs = (lease: Renewable): number => lease.leasedAtMs + leaseMs - clock.monotonicMs();
  const letGo = (): void => {
    for (const lease of leases) if (endsInMs(lease) <= 0) lease.stop("lost");
    watch();
  };
  /** A lease that has ended before it was asked for may still be ours: the answer tells. */
  const watch = (): void => {
    const next = Math.min(...leases.map(endsInMs).filter((ms) => ms > 0));
    if (next < Infinity) cancel = clock.after(next, letGo);
  };
  watch();
  try {
    return await renew();
  } catch (error) {
    letGo();
    throw error;
  } finally {
    cancel();
  }
}
