/**
 * A new operator, with nothing but the console: the tour has left a stalled saga, two abandoned erasures, two dead
 * letters and a disabled subscription. Each choice is made by the words on the page alone.
 */
import type { Locator, Page } from "playwright-core";
import { expect, it } from "vitest";
import { TourProcess } from "../examples/tour-process.ts";
import { seriousFindings } from "./support/accessibility.ts";
import { builtConsole } from "../support/built.ts";
import { eventually, inBrowser, settled } from "./support/stage.ts";

/** The card whose words fit. */
const card = (page: Page, words: RegExp): Locator => page.locator(".attention-card", { hasText: words });

/** Presses the button, takes the reason that is offered first, and sends it. */
async function act(page: Page, where: Locator, verb: string): Promise<string> {
  await where.getByRole("button", { name: verb, exact: true }).first().click();
  const dialog = page.locator("dialog[open]");
  await dialog.locator(".suggest button").first().click();
  const reason = await page.getByLabel("Reason").inputValue();
  await dialog.locator("button[type=submit]").click();
  await dialog.waitFor({ state: "detached" });
  return reason;
}

inBrowser("a new operator", (stage) => {
  it("[P-02][P-04] a new operator mends everything that the tour left, with only the console at hand", async () => {
    const tour = await TourProcess.start("--port", "0", "--assets", await builtConsole());
    const { page, troubles } = await stage.tab();
    try {
      const [address] = await tour.hears(/http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]{32}/);
      await tour.hears(/are back: you can now retry what failed/);
      await page.goto(address);
      await settled(page);

      // The overview says how much there is; the list says what.
      await eventually(() => page.locator(".tile-figure").first().innerText()).toBe("6");
      await page.getByRole("link", { name: /^Needs attention/ }).click();
      await eventually(() => page.locator(".attention-card").count()).toBe(6);
      expect(await seriousFindings(page)).toEqual([]);

      // The stalled order: look first, then retry.
      await card(page, /Stalled saga/)
        .locator("a.row-link")
        .click();
      await page.getByText("Stuck: action required").waitFor();
      await page.getByText("RefundsDown").first().waitFor();
      const reasons = [await act(page, page.locator("main"), "Retry")];
      await page.locator("h1 .state", { hasText: "Rolled back" }).waitFor();

      // The others, from the list: each card says whose it is, where it was to go and what came back.
      await page.locator(".rail-link[data-section=attention]").click();
      for (const [words, verb] of [
        [/For u-ann: newsletter did not erase: http-503/i, "Requeue"],
        [/For u-ben: newsletter did not erase: http-503/i, "Requeue"],
        [/warehouse-east: it answered HTTP 500/, "Resend"],
        [/Disabled subscription.*gone for good/s, "Unsubscribe"],
      ] as const) {
        await eventually(() => card(page, words).count()).toBe(1);
        reasons.push(await act(page, card(page, words), verb));
        await eventually(() => card(page, words).count()).toBe(0);
      }
      await page.getByText("All clear").waitFor();
      await tour.hears(/✓ task 5 is done: order o-1007/);
      await tour.hears(/\(5 of 5\)/);
      await tour.hears(/All clear: nothing needs attention\./);

      // It is really done, and it is on record.
      await page.locator(".rail-link[data-section=erasures]").click();
      await page.getByRole("searchbox").fill("u-ann");
      await page.locator("tbody tr", { hasText: "u-ann" }).locator("a").first().click();
      await page.getByText("Erasure requeued").waitFor();
      await page.locator(".rail-link[data-section=audit]").click();
      await eventually(() => page.locator("tbody tr").count()).toBe(5);
      for (const reason of reasons) await page.locator("tbody tr", { hasText: reason }).first().waitFor();
      expect(troubles).toEqual([]);
    } finally {
      await page.close();
      expect(await tour.interrupt()).toBe(0);
    }
  });
});
