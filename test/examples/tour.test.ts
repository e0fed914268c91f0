/** `npm start`, as a script would run it: no terminal, so no colours and no cursor tricks. */
import { existsSync, readdirSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { runExample } from "./run-program.ts";
import { TourProcess } from "./tour-process.ts";

const PATIENCE = { timeout: 60_000 };

describe("sqlite", () => {
  it(
    "[S-10][S-14][S-16][S-29][F-10][W-08][W-12][O-16][P-01][P-02] the tour plays all parts once, through a kill and outages, and does every task that is left",
    PATIENCE,
    async () => {
      const { code, output } = await runExample("examples/tour/main.ts", ["--once", "--port", "0"], {
        FORCE_COLOR: "",
        CI: "true",
      });
      const words = output.replaceAll(/\s+/g, " ");
      expect(output).toMatch(/console +http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]{32}\n/);
      expect(output).toMatch(/data +\.amends\/tour, new on every start\n/);

      expect(output).toMatch(/o-1001 +✓ reserve {2}✓ charge {2}✓ ship {2}✓ email {2}COMPLETED\n/);
      expect(output).toMatch(/o-1004 +✓ reserve {2}✗ charge card-declined {2}↺ reserve undone {2}FAILED\n/);
      expect(output).toMatch(/✗ process \d+ was killed\n/);
      expect(output).toMatch(/this process has taken the order over\n/);
      expect(words).toContain(
        "The payment service was called 2 times with the key o-1005:charge:act, and moved money once.",
      );
      expect(words).toMatch(/restock-1 ✓ StockLow .* ✓ ShelfFilled COMPLETED/);
      expect(words).toMatch(/✗ NoRoom ↺ CancelPurchase ↺ PurchaseCancelled ↺ RestockFailed FAILED/);
      expect(output).toMatch(/ledger +✓ http_204 {2}Completed\n/);
      expect(output).toMatch(/warehouse-east +(?:✗ http_500 {2}){4}DeadLettered\n/);
      expect(output).toMatch(/old-shop +✗ gone {2}DeadLettered\n/);
      expect(output).toMatch(/outside +✓ 3 confirmed {2}• 2 will expire {2}✗ 2 abandoned\n/);
      expect(output).toMatch(/↺ reserve undone {2}STALLED\n/);

      expect(words).toContain("task 5 order o-1007: the undo of step charge failed (RefundsDown) ✓ retry");
      expect(words).toMatch(
        /task 3 erasure of u-ann: .*newsletter did not erase: http-503, 3 attempts ✓ requeue/,
      );
      expect(words).toMatch(
        /task 2 webhook to warehouse-east: .*: it answered HTTP 500, 4 attempts ✓ resend/,
      );
      expect(words).toMatch(
        /task 1 webhooks to old-shop: .*: it answered HTTP 410 \(gone for good\) ✓ unsubscribe/,
      );
      expect(words).toContain("All clear.");
      for (const page of [
        "sagas",
        "sagas/o-1004",
        "sagas/o-1005",
        "flows",
        "webhooks",
        "erasures/u-ann",
        "audit",
      ])
        expect(output).toMatch(new RegExp(`see +http://127\\.0\\.0\\.1:\\d+/#/${page}\n`));
      expect(output).toContain("✓ completed  ↺ rolled back  attention: items that need an operator\n");
      expect(output).toMatch(/orders 5 ✓ 2 ↺ · restocks 2 · webhooks 6 · erasures 3 · attention 0\n/);
      expect(output).toMatch(/orders +5 completed, 2 rolled back, none half-done\n/);
      expect(output).toMatch(/crashes +1 survived\n/);
      expect(output).toMatch(/payments +called 7 times for 6 charges: no customer paid twice\n/);

      expect(output.split("\n").filter((line) => line.length > 80)).toEqual([]);
      expect(output).not.toContain("Warning");
      expect(output).not.toContain("\u001B");
      expect(output).not.toContain("\r");
      expect(code).toBe(0);
    },
  );

  it(
    "[P-01][P-02] without --once the tour takes another port where its own is taken, leaves tasks to an operator, and ends on Ctrl-C",
    PATIENCE,
    async () => {
      const other = createServer();
      await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
      const { port } = other.address() as AddressInfo;
      const tour = await TourProcess.start("--port", String(port));
      try {
        const [, taken] = await tour.hears(/http:\/\/127\.0\.0\.1:(\d+)\/#token=/);
        expect(taken).not.toBe(String(port));
        await tour.hears(new RegExp(`Port ${port} is in use, so the console has another one\\.`));
        await tour.hears(/Your turn/);
        await tour.hears(
          /task 1 webhooks to old-shop: .* → Unsubscribe .* task 2 .* → Resend .* task 3 erasure of u-ann: .* → Requeue .* task 5 order o-1007: .* → Retry \(/,
        );
        await tour.hears(/attention 6/);
        expect(readdirSync(tour.folder)).toEqual([".amends"]);
        expect(existsSync(`${tour.folder}/.amends/tour/shop.db`)).toBe(true);
      } finally {
        other.close();
        expect(await tour.interrupt()).toBe(0);
      }
      expect(tour.output).toContain("Stopping: no new work is taken, running calls may finish.");
    },
  );
});
