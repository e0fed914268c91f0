/** The pages of event flows on the real console over a real database: what stalled or was given up is found and mended. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Page } from "playwright-core";
import { Amends } from "amends";
import { createConsole } from "amends/console";
import { sqlite } from "amends/sqlite";
import { expect, it } from "vitest";
import { flows, sceneOf, type FlowScene } from "../console/support/flows.ts";
import { seriousFindings } from "./support/accessibility.ts";
import { PHONE } from "./support/browser.ts";
import { builtConsole } from "../support/built.ts";
import { eventually, expectNoSidewaysScroll, inBrowser, settled } from "./support/stage.ts";

async function openScene(): Promise<{ scene: FlowScene; url: string; close(): Promise<void> }> {
  const folder = mkdtempSync(path.join(tmpdir(), "amends-flows-"));
  const mended = { undo: false, notice: false };
  const { saga, handlers } = flows(mended);
  const amends = new Amends({ database: sqlite(path.join(folder, "shop.db")), events: [saga, ...handlers] });
  await amends.migrate();
  const server = await createConsole(amends, { assets: await builtConsole() }).listen({ port: 0 });
  return {
    scene: sceneOf(amends, mended),
    url: server.signInUrl,
    close: async () => {
      await server.close();
      await amends.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function say(page: Page, reason: string): Promise<void> {
  await page.getByLabel("Reason").fill(reason);
  await page.locator("dialog[open] button[type=submit]").click();
}

inBrowser("event flows on the real console", (stage) => {
  it("[P-02][P-04][X-01] an operator finds the stalled flow and the abandoned event, mends both, and it is on record", async () => {
    const { scene, url, close } = await openScene();
    const id = await scene.run("stalled", "stalled-1", "ada@example.com");
    await scene.run("completed", "c-1");
    await scene.giveUp();
    const { page, troubles } = await stage.tab();
    try {
      await page.goto(url);
      await settled(page);
      await page.locator(".rail-link[data-section=flows]").click();
      await page.locator("tbody tr", { hasText: "c-1" }).waitFor();
      await page.getByRole("button", { name: /^Stalled/u }).click();
      await eventually(() => page.locator("tbody tr").count()).toBe(1);
      expect(await seriousFindings(page)).toEqual([]);
      await page.locator("tbody a.row-link", { hasText: "convention_init" }).click();
      await page.locator("h1 .state", { hasText: "Stalled" }).waitFor();
      expect(await page.locator('[data-node="undo:create_schema"]').getAttribute("data-state")).toBe(
        "failed",
      );
      expect(await page.locator("body").innerText()).not.toContain("ada@example.com");
      expect(await seriousFindings(page)).toEqual([]);

      await page.getByRole("button", { name: "Reveal" }).first().click();
      await say(page, "whose is it?");
      await page.getByText("ada@example.com").first().waitFor();

      scene.mended.undo = true;
      await page.locator('[data-action="retry"]').first().click();
      await say(page, "the schema is free");
      await page.locator("h1 .state", { hasText: "Compensating" }).waitFor();
      await scene.settle();
      await page.locator("h1 .state", { hasText: "Rolled back" }).waitFor();
      expect(await page.locator('[data-node="undo:create_schema"]').getAttribute("data-state")).toBe("done");
      expect((await scene.amends.events.inspect(id))?.status).toBe("failed");

      await page.locator(".rail-link[data-section=attention]").click();
      const given = page.locator('.attention-card[data-kind="abandoned-event"]');
      await given.locator('[data-action="resolve"]').click();
      await say(page, "told by telephone");
      await given.waitFor({ state: "detached" });
      expect((await scene.amends.attention.list()).items).toEqual([]);

      await page.locator(".rail-link[data-section=audit]").click();
      for (const reason of ["whose is it?", "the schema is free", "told by telephone"]) {
        await page.getByText(reason).waitFor();
      }
      expect(troubles).toEqual([]);
    } finally {
      await page.close();
      await close();
    }
  });

  it("[P-04] the pages of flows are whole and accessible on a phone in the dark, and an entry's page mends a abandoned event", async () => {
    const { scene, url, close } = await openScene();
    const id = await scene.run("stalled", "stalled-1");
    const given = await scene.giveUp();
    const { page, troubles } = await stage.tab({ ...PHONE, scheme: "dark" });
    try {
      await page.goto(url);
      await settled(page);
      for (const [hash, says] of [
        ["#/flows", "stalled-1"],
        ["#/flows?q=nothing-like-it", "No matching flows"],
        [`#/flows/${id}`, "DropSchema"],
        [`#/outbox/${given}`, "RangeError"],
        ["#/attention", "Abandoned event"],
      ] as const) {
        await page.goto(new URL(hash, url).href);
        await settled(page);
        await page.locator("main").getByText(says).first().waitFor();
        await expectNoSidewaysScroll(page);
        expect.soft(await seriousFindings(page), hash).toEqual([]);
      }
      scene.mended.notice = true;
      await page.goto(new URL(`#/outbox/${given}`, url).href);
      await page.locator('[data-action="retry"]').click();
      await say(page, "somebody listens");
      await page.locator("h1 .state", { hasText: "Pending" }).waitFor();
      await scene.settle();
      await page.locator("h1 .state", { hasText: "Succeeded" }).waitFor();
      expect(troubles).toEqual([]);
    } finally {
      await page.close();
      await close();
    }
  });
});
