/**
 * Renews leases. A lease that expires while the database does not answer counts as lost: another worker may have
 * claimed the row, so the call here is aborted.
 */
import type { Clock } from "../storage/clock.ts";

export interface Renewable {
  /** Local instant of the last renewal that is known to have succeeded. */
  readonly leasedAtMs: number;
  stop(reason: "lost"): void;
}

/** The number of checks per lease length: a lease is renewed after an eighth of its length. */
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
  /** A lease that expired before the renewal may still be valid: the answer decides. */
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
