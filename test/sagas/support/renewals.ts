import type { VirtualClock } from "amends/testing";
import { expect, vi } from "vitest";
import { RENEWALS } from "../../../src/runtime/renewal.ts";
import type { Onlooker } from "./look.ts";
import { LEASE_MS } from "./pair.ts";

/**
 * Moves time on by this many renewals of a saga's lease. Each renewal has reached the database before `each` is called:
 * it is a round trip in real time, which the virtual clock does not wait for.
 */
export async function throughRenewals(
  count: number,
  { clock, look, id, each }: { clock: VirtualClock; look: Onlooker; id: string; each: () => Promise<void> },
): Promise<void> {
  for (let renewal = 0; renewal < count; renewal++) {
    await clock.advance(LEASE_MS / RENEWALS);
    await vi.waitFor(async () =>
      expect(Number((await look.row(id))["gate_ms"]) - clock.virtualNowMs()).toBeGreaterThanOrEqual(
        (LEASE_MS * 3) / 4,
      ),
    );
    await each();
  }
}
