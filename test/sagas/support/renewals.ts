import { expect } from "vitest";
import { RENEWALS } from "../../../src/runtime/renewal.ts";
import { advanceWithRenewals, type WatchedClock } from "../../support/watched-clock.ts";
import type { Onlooker } from "./look.ts";
import { LEASE_MS } from "./pair.ts";

const RENEWAL_MS = LEASE_MS / RENEWALS;

/**
 * Moves time on by this many renewals of a saga's lease. Each renewal has reached the database before `each` is called:
 * it is a round trip in real time, which the virtual clock does not wait for.
 */
export async function throughRenewals(
  count: number,
  { clock, look, id, each }: { clock: WatchedClock; look: Onlooker; id: string; each: () => Promise<void> },
): Promise<void> {
  for (let renewal = 0; renewal < count; renewal++) {
    await advanceWithRenewals(clock, RENEWAL_MS, RENEWAL_MS);
    const gateMs = Number((await look.row(id))["gate_ms"]);
    expect(gateMs - clock.virtualNowMs()).toBeGreaterThanOrEqual((LEASE_MS * 3) / 4);
    await each();
  }
}
