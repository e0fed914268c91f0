/** Schedules in the browser: by keyboard, on a phone, live, and on the real console over a real database. */
import { Amends, saga } from "amends";
import { createConsole } from "amends/console";
import { sqlite } from "amends/sqlite";
import { virtualClock } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { builtConsole } from "../support/built.ts";
import { PHONE } from "./support/browser.ts";
import { scheduleOf } from "./support/schedule-world.ts";
import { eventually, expectRows, inBrowser, settled, visit } from "./support/stage.ts";

inBrowser("schedules", (stage) => {
  it("[P-04] a schedule is found, opened and paused without a mouse", async () => {
    const fixture = await stage.fixture();
    const { page, troubles } = await stage.tab();
    await visit(page, fixture, "#/");
    await page.keyboard.press("g");
    await page.keyboard.press("c");
    await settled(page);
    await expectRows(page, 4);
    // A person types once the field is there and has the focus: on a busy machine that takes a moment.
    await page.keyboard.press("/");
    await page.locator("input:focus").waitFor();
    await page.keyboard.type("night");
    await expectRows(page, 1);
    await page.keyboard.press("Tab");
    await page.keyboard.press("j");
    await page.locator("[data-row]:focus", { hasText: "nightly-invoices" }).waitFor();
    await page.keyboard.press("Enter");
    await page.locator("h1", { hasText: "nightly-invoices" }).waitFor();
    await page.locator('[data-action="pause"]').focus();
    await page.keyboard.press("Enter");
    await page.locator("dialog[open]").locator("textarea:focus, input:focus").waitFor();
    await page.keyboard.type("the bank is closed");
    await page.locator("dialog[open] button[type=submit]").focus();
    await page.keyboard.press("Enter");
    await page.getByLabel("Paused").filter({ hasText: "the bank is closed" }).waitFor();
    expect(fixture.writes.at(-1)).toMatchObject({
      path: "schedules/nightly-invoices/pause",
      body: { reason: "the bank is closed" },
    });
    expect(troubles).toEqual([]);
    await page.close();
  });

  it("[P-04] the list tells what became of the last tick, and follows what changes", async () => {
    const fixture = await stage.fixture();
    const { page, troubles } = await stage.tab();
    await visit(page, fixture, "#/schedules");
    const row = page.locator("tbody tr", { hasText: "nightly-invoices" });
    expect(await row.innerText()).toContain("Stalled");
    expect(await page.locator("tbody tr", { hasText: "weekly-report" }).innerText()).toContain("none yet");
    const { nowMs, schedules } = fixture.world;
    const changed = scheduleOf("nightly-invoices", nowMs);
    schedules.set("nightly-invoices", { ...changed, last: changed.lastTicks[3] ?? null });
    fixture.tell({ parts: ["schedules"] });
    await eventually(() => row.innerText()).toContain("Skipped");
    await page.getByRole("button", { name: "Paused" }).click();
    await expectRows(page, 1);
    expect(await page.locator("tbody tr").innerText()).toContain("payouts-acme");
    expect(troubles).toEqual([]);
    await page.close();
  });

  it("[P-04] on a phone a schedule is removed with a reason, and the list comes back without it", async () => {
    const fixture = await stage.fixture();
    const { page, troubles } = await stage.tab(PHONE);
    await visit(page, fixture, "#/schedules/payouts-acme");
    await page.locator('[data-action="remove"]').click();
    expect(await page.locator("dialog[open]").innerText()).toContain("brings it back");
    await page.getByRole("button", { name: "No longer needed" }).click();
    await page.locator("dialog[open] button[type=submit]").click();
    await page.locator("h1", { hasText: "Schedules" }).waitFor();
    await expectRows(page, 3);
    expect(troubles).toEqual([]);
    await page.close();
  });

  it("[P-04][S-41] on the real console, a run that an operator asks for starts the saga, which is one click away", async () => {
    const clock = virtualClock(Date.parse("2026-11-18T00:00:00Z"));
    const invoice = saga("invoice", z.object({ month: z.string() })).step("send", { act: () => 1 });
    const amends = new Amends({ database: sqlite(":memory:", { clock }), sagas: [invoice] });
    await amends.migrate();
    await amends.schedules.put("nightly-invoices", {
      cron: "0 3 * * *",
      timezone: "Europe/Berlin",
      saga: invoice,
      input: { month: "May" },
    });
    const server = await createConsole(amends, { assets: await builtConsole() }).listen({ port: 0 });
    const { page, troubles } = await stage.tab();
    await page.goto(server.signInUrl);
    await settled(page);
    await page.locator(".rail-link[data-section=schedules]").click();
    await page.getByRole("link", { name: "nightly-invoices" }).click();
    await page.locator("h1", { hasText: "nightly-invoices" }).waitFor();
    expect(await page.getByLabel("Next ticks").innerText()).toContain("Wed 2026-11-18 03:00");
    await page.locator('[data-action="run"]').click();
    await page.getByLabel("Reason").fill("last night failed");
    await page.locator("dialog[open] button[type=submit]").click();
    await page.getByText("A run waits for a worker that has saga invoice").waitFor();
    clock.jump(1);
    await amends.worker().runOnce({ budget: "1m" });
    await clock.advance(5_000);
    await page.reload();
    await settled(page);
    const ticks = page.getByLabel("Last ticks");
    await eventually(() => ticks.innerText()).toContain("run by an operator");
    await ticks.getByRole("link").click();
    await page.locator("h1", { hasText: "invoice Completed" }).waitFor();
    expect(troubles).toEqual([]);
    await page.close();
    await server.close();
    await amends.close();
  });
});
