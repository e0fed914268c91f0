/**
 * Two workers on one database, each with a clock of its own. The first one's clock stands still, so that whatever it
 * is doing it never renews its lease: for everybody else it has vanished. The second one's clock can move past the lease.
 */
import type { Amends } from "amends";
import { virtualClock, type VirtualClock } from "amends/testing";
import type { AmendsOptions, TestDatabase } from "../../support/databases.ts";

export const LEASE_MS = 60_000;

export interface Pair {
  readonly first: Amends;
  readonly second: Amends;
  readonly secondClock: VirtualClock;
  /** The first one's lease is over, as far as the second can see. */
  lapse(): void;
}

export async function pair(
  database: TestDatabase,
  options: AmendsOptions,
  forSecond: AmendsOptions = options,
): Promise<Pair> {
  const secondClock = virtualClock();
  const first = await database.amends({ ...options, clock: virtualClock() });
  const second = await database.amends({ ...forSecond, clock: secondClock });
  return { first, second, secondClock, lapse: () => secondClock.jump(LEASE_MS + 1) };
}
