/** The pages on the real console over a real database: a stalled saga is found, understood and mended. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Amends, err, saga } from "amends";
import { createConsole } from "amends/console";
import { sqlite } from "amends/sqlite";
import { expect, it } from "vitest";
import { z } from "zod";
import { builtConsole } from "../support/built.ts";
import { eventually, inBrowser, settled } from "./support/stage.ts";

const input = z.object({ orderId: z.string(), customer: z.object({ email: z.string() }) });

inBrowser("the real console", (stage) => {
  it("[P-02][P-04][X-01] an operator finds the stalled saga, sees why, mends it, and it is on record", async () => {
    let bankOpen = false;
    const order = saga("place-order", input, { compensateRetry: { attempts: 1 } })
      .step("reserve", { act: () => ({ id: "r-1" }), compensate: () => undefined })
      .step("charge", {
        act: () => ({ chargeId: "c-1" }),
        compensate: () => {
          if (!bankOpen) throw new RangeError("the bank is closed");
        },
      })
      .step("ship", { act: () => err("no-stock") });
    const folder = mkdtempSync(path.join(tmpdir(), "amends-real-"));
    const amends = new Amends({ database: sqlite(path.join(folder, "shop.db")), sagas: [order] });
    await amends.migrate();
    const worker = amends.worker();
    await amends.start(order, { orderId: "o-1", customer: { email: "ada@example.com" } }, { id: "o-1" });
    await worker.runOnce();
    const server = await createConsole(amends, { assets: await builtConsole() }).listen({ port: 0 });
    const { page, troubles } = await stage.tab();
    try {
      await page.goto(server.signInUrl);
      await settled(page);
      await eventually(() => page.locator(".tile-figure").first().innerText()).toBe("1");
      await page.locator(".rail-link[data-section=attention]").click();
      await page.locator(".attention-card a.row-link", { hasText: "place-order" }).click();
      await page.locator("h1 .state", { hasText: "Stalled" }).waitFor();
      expect(await page.locator('[data-node="undo:charge"]').getAttribute("data-state")).toBe("failed");
      expect(await page.locator("body").innerText()).not.toContain("ada@example.com");

      await page.getByRole("button", { name: "Reveal" }).click();
      await page.getByLabel("Reason").fill("whose order is it?");
      await page.locator("dialog[open] button[type=submit]").click();
      await page.getByText("ada@example.com").waitFor();

      bankOpen = true;
      await page.locator('[data-action="retry"]').click();
      await page.getByLabel("Reason").fill("the bank is open again");
      await page.locator("dialog[open] button[type=submit]").click();
      await page.locator("h1 .state", { hasText: "Compensating" }).waitFor();
      await worker.runOnce();
      await page.locator("h1 .state", { hasText: "Rolled back" }).waitFor();
      expect(await page.locator('[data-node="undo:charge"]').getAttribute("data-state")).toBe("done");
      await eventually(() =>
        page.locator(".rail [data-testid=attention-count]").getAttribute("data-none"),
      ).toBe("true");

      await page.locator(".rail-link[data-section=audit]").click();
      await page.getByText("the bank is open again").waitFor();
      await page.getByText("whose order is it?").waitFor();
      await page.locator(".rail-link[data-section=sagas]").click();
      await page.getByRole("searchbox").fill("o-1");
      await page.locator("tbody tr", { hasText: "place-order" }).waitFor();
      expect(troubles).toEqual([]);
    } finally {
      await page.close();
      await server.close();
      await amends.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
