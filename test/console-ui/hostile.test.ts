/** Whatever somebody stored, a page shows it as text: nothing runs, nothing is loaded, nothing breaks the layout. */
import { expect, it } from "vitest";
import type { Page } from "playwright-core";
import { PHONE } from "./support/browser.ts";
import { HOSTILE } from "./support/hostile.ts";
import { expectNoSidewaysScroll, inBrowser, visit } from "./support/stage.ts";

async function expectHarmless(page: Page, hash: string): Promise<void> {
  expect.soft(await page.evaluate<unknown>("globalThis.pwned ?? null"), hash).toBeNull();
  const foreign = await page.evaluate<number>(
    `document.querySelectorAll("main img, main iframe, main script, main [onerror], main [onload], main a[href^='javascript' i]").length`,
  );
  expect.soft(foreign, hash).toBe(0);
  await expectNoSidewaysScroll(page);
}

inBrowser("hostile", (stage) => {
  for (const [name, look] of [["desktop", {}] as const, ["phone", PHONE] as const]) {
    it(`[X-01] nothing that was stored is ever read as markup: ${name}`, async () => {
      const fixture = await stage.fixture({ kind: "hostile" });
      const { page, troubles } = await stage.tab(look);
      const id = encodeURIComponent([...fixture.world.sagas.keys()][1] ?? "");
      const subject = encodeURIComponent(HOSTILE[0] ?? "");
      const pages = [
        "#/",
        "#/attention",
        "#/sagas",
        `#/sagas/${id}`,
        "#/flows",
        "#/flows/f-1",
        "#/outbox",
        "#/outbox/e-1",
        "#/webhooks",
        "#/webhooks/deliveries/1",
        "#/webhooks/subscriptions",
        "#/webhooks/subscriptions/1",
        "#/erasures",
        `#/erasures/${subject}`,
        "#/audit",
        "#/audit/subjects",
      ];
      for (const hash of pages) {
        await visit(page, fixture, hash);
        await expectHarmless(page, hash);
      }
      expect(troubles).toEqual([]);
      await page.close();
    });
  }

  it("[X-01] revealed values, hostile and huge ones too, are text, and the page stays quick", async () => {
    const fixture = await stage.fixture({ kind: "hostile" });
    const { page, troubles } = await stage.tab();
    const [huge = "", bad = ""] = fixture.world.sagas.keys();
    for (const id of [huge, bad]) {
      await visit(page, fixture, `#/sagas/${encodeURIComponent(id)}`);
      await page.getByRole("button", { name: "Reveal" }).click();
      await page.getByLabel("Reason").fill("to see");
      await page.locator("dialog[open] button[type=submit]").click();
      await page.getByRole("button", { name: "Hide" }).waitFor();
      await expectHarmless(page, id);
    }
    expect(await page.locator("main").innerText()).toContain("onerror");
    await visit(page, fixture, `#/sagas/${encodeURIComponent(huge)}`);
    await page.getByRole("button", { name: "Reveal" }).click();
    await page.getByLabel("Reason").fill("to see");
    await page.locator("dialog[open] button[type=submit]").click();
    await page.getByRole("button", { name: "all 60,000 characters" }).waitFor();
    expect(await page.locator(".json li").count()).toBeLessThan(200);
    expect(troubles).toEqual([]);
    await page.close();
  });

  it("[X-01] the policy forbids what is not ours: an injected script does not run", async () => {
    const fixture = await stage.fixture();
    const { page, troubles } = await stage.tab();
    await visit(page, fixture, "#/");
    await page
      .evaluate(
        "{ const script = document.createElement('script'); script.append('globalThis.pwned = 1'); document.body.append(script); }",
      )
      .catch(() => undefined);
    expect(await page.evaluate<unknown>("globalThis.pwned ?? null")).toBeNull();
    expect(troubles.join()).toMatch(/CSP|Trusted/iu);
    await page.close();
  });
});
