/** `npm start -- --once`, as a script would run it: no terminal, so no colours and no cursor tricks. */
import { describe, expect, it } from "vitest";
import { runExample } from "./run-program.ts";

describe("sqlite", () => {
  it("[S-10][S-14][S-16][S-29] the tour's orders complete, are undone, survive a kill, stall and are resolved", async () => {
    const { code, output } = await runExample("examples/tour/main.ts", ["--once"], { FORCE_COLOR: "" });
    expect(output).toMatch(/o-1001 +✓ reserve {2}✓ charge {2}✓ ship {2}✓ email {2}COMPLETED\n/);
    expect(output).toMatch(/o-1004 +✓ reserve {2}✗ charge card-declined {2}↺ reserve undone {2}FAILED\n/);
    expect(output).toMatch(/✗ process \d+ was killed\n/);
    expect(output).toMatch(/this process has taken the order over\n/);
    expect(output.replaceAll(/\s+/g, " ")).toContain(
      "The payment service was called 2 times with the key o-1005:charge:act, and moved money once.",
    );
    expect(output).toMatch(/↺ reserve undone {2}STALLED\n/);
    expect(output).toMatch(/reason +the undo of step charge failed \(PaymentsDown\)\n/);
    expect(output).toMatch(/o-1006 +↺ charge undone {2}FAILED\n/);
    expect(output).toMatch(/orders +4 completed, 2 undone\n/);
    expect(output).toMatch(/the data +\.amends\/tour\/shop\.db/);
    expect(output).not.toContain("\u001B");
    expect(output).not.toContain("\r");
    expect(code).toBe(0);
  });
});
