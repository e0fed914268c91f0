/** However odd the browser or the data, the page is never blank. */
import { expect, it } from "vitest";
import type { OutboxLine } from "../../src/console/contract-parts.ts";
import { inBrowser, settled, visit } from "./support/stage.ts";

inBrowser("start", (stage) => {
  it("[P-04] the console starts in a browser whose language is no BCP 47 tag", async () => {
    const fixture = await stage.fixture();
    const { page, troubles } = await stage.tab();
    await page.addInitScript(
      `Object.defineProperty(Navigator.prototype, "language", { get: () => "en-US@posix", configurable: true });`,
    );
    await visit(page, fixture, "#/");
    expect(await page.locator("h1").innerText()).toBe("Overview");
    expect(await page.locator(".plot canvas").count()).toBe(3);
    expect(troubles).toEqual([]);
    await page.close();
  });

  it("[P-04] a script that throws leaves a page that says so, with the error", async () => {
    const fixture = await stage.fixture();
    const { page } = await stage.tab();
    await page.route("**/assets/app-*.js", (route) =>
      route.fulfill({ contentType: "text/javascript", body: 'throw new RangeError("broken on purpose");' }),
    );
    await page.goto(fixture.url);
    await page.getByRole("heading", { name: "The console did not start" }).waitFor();
    expect(await page.locator("#start-error").innerText()).toBe("RangeError: broken on purpose");
    await page.unroute("**/assets/app-*.js");
    await page.reload();
    await settled(page);
    expect(await page.getByText("The console did not start").count()).toBe(0);
    await page.close();
  });

  it("[P-04] an exception in one page stays in that page: the others and the way to them work", async () => {
    const fixture = await stage.fixture();
    const { page } = await stage.tab();
    const [[id, entry] = ["", undefined]] = fixture.world.outbox;
    fixture.world.outbox.set(id, { ...entry, actions: null } as unknown as OutboxLine);
    await page.goto(`${fixture.url}#/outbox`);
    await page.getByText("This page could not be drawn").waitFor();
    expect(await page.locator("main").innerText()).toContain("TypeError");
    await page.locator(".rail-link[data-section=sagas]").click();
    await page.locator("tbody tr").first().waitFor();
    if (entry) fixture.world.outbox.set(id, entry);
    await page.locator(".rail-link[data-section=outbox]").click();
    await page.locator("tbody tr").first().waitFor();
    await page.close();
  });
});
