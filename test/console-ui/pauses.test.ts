/** Pausing in the browser, on the real console over a real database: a saga, and all sagas or calls of a name. */
import { Amends, saga } from "amends";
import { defineCall } from "amends/calls";
import { createConsole } from "amends/console";
import { sqlite } from "amends/sqlite";
import { expect, it } from "vitest";
import { z } from "zod";
import { builtConsole } from "../support/built.ts";
import { PHONE } from "./support/browser.ts";
import { eventually, inBrowser, settled, visit } from "./support/stage.ts";

inBrowser("pauses", (stage) => {
  it("[P-04][S-44] on the real console an operator pauses a saga and all sagas of a name, and resumes both", async () => {
    const order = saga("place-order", z.object({})).step("ship", { act: () => 1 });
    const mail = defineCall("send-mail", { schema: z.object({}), handle: () => undefined });
    const amends = new Amends({ database: sqlite(":memory:"), sagas: [order], calls: [mail] });
    await amends.migrate();
    await amends.start(order, {}, { id: "o-1" });
    await amends.start(order, {}, { id: "o-2" });
    await amends.pause({ call: mail }, { reason: "the mail server is down", by: "bob" });
    const server = await createConsole(amends, { assets: await builtConsole() }).listen({ port: 0 });
    const { page, troubles } = await stage.tab();
    await page.goto(server.signInUrl);
    await settled(page);
    const act = async (action: string, reason: string): Promise<void> => {
      await page.locator(`[data-action="${action}"]`).first().click();
      await page.getByLabel("Reason").fill(reason);
      await page.locator("dialog[open] button[type=submit]").click();
      await page.locator("dialog[open]").waitFor({ state: "detached" });
    };
    await page.goto(`${server.url}#/sagas/o-1`);
    await settled(page);
    await act("pause", "the bank is down");
    await page.getByLabel("Paused").filter({ hasText: "the bank is down" }).waitFor();
    await page.goto(`${server.url}#/sagas?name=place-order`);
    await settled(page);
    await page.locator("tbody tr", { hasText: "o-1" }).filter({ hasText: "paused" }).waitFor();
    await page.getByRole("button", { name: "Pause all place-order" }).click();
    await page.getByLabel("Reason").fill("the bank is closed");
    await page.locator("dialog[open] button[type=submit]").click();
    const panel = page.getByLabel("Paused", { exact: true });
    await eventually(() => panel.innerText()).toContain("All sagas place-order");
    expect(await panel.innerText()).toContain("place-order o-1");
    expect(await amends.worker().runOnce()).toBe(0);
    await page.goto(`${server.url}#/outbox`);
    await settled(page);
    await eventually(() => panel.innerText()).toContain("All calls send-mail");
    await act("resume", "the mail server is back");
    await panel.waitFor({ state: "detached" });
    await page.goto(`${server.url}#/sagas`);
    await settled(page);
    await eventually(() => panel.innerText()).toContain("All sagas place-order");
    await act("resume", "the bank is back");
    await eventually(() => panel.innerText()).not.toContain("All sagas place-order");
    expect(await amends.worker().runOnce()).toBe(1);
    await act("resume", "the bank is back");
    await panel.waitFor({ state: "detached" });
    expect(await amends.worker().runOnce()).toBe(1);
    expect(troubles).toEqual([]);
    await page.close();
    await server.close();
    await amends.close();
  });

  it("[P-04][S-44] a saga is paused and resumed on a phone", async () => {
    const fixture = await stage.fixture();
    const { page, troubles } = await stage.tab(PHONE);
    await visit(page, fixture, "#/sagas/o-4711");
    await page.locator('[data-action="pause"]').click();
    await page.getByLabel("Reason").fill("the bank is down");
    await page.locator("dialog[open] button[type=submit]").click();
    await page.getByLabel("Paused").filter({ hasText: "the bank is down" }).waitFor();
    expect(fixture.writes.at(-1)).toMatchObject({
      path: "sagas/o-4711/pause",
      body: { reason: "the bank is down" },
    });
    await page.locator('[data-action="resume"]').waitFor();
    expect(troubles).toEqual([]);
    await page.close();
  });
});
