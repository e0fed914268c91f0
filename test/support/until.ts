/** Waiting for a condition. */
import { expect, vi } from "vitest";
import { UNTIL_MS } from "../setup/limits.ts";

/** Looks again and again, and resolves with the first thing that is found. */
export async function until<T>(
  look: () => T | undefined | false | Promise<T | undefined | false>,
): Promise<T> {
  return vi.waitFor(
    async () => {
      const found = await look();
      expect(found).toBeTruthy();
      return found as T;
    },
    { timeout: UNTIL_MS, interval: 5 },
  );
}
