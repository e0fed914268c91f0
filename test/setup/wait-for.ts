/**
 * How long a test waits for a condition before it fails: 20 seconds instead of Vitest's one. A busy machine is slow, and
 * that is not what is tested. `expect.poll` has the same limit by the configuration, `vi.waitFor` has no such setting.
 */
import { vi } from "vitest";
import { UNTIL_MS } from "./limits.ts";

const { waitFor } = vi;

// Files share a process: the first one has done it for all.
if (waitFor.name !== "waitLonger") {
  vi.waitFor = function waitLonger(look, options = {}) {
    const given = typeof options === "number" ? { timeout: options } : options;
    return waitFor(look, { timeout: UNTIL_MS, interval: 20, ...given });
  };
}
