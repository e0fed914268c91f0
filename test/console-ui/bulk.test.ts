/** Bulk actions in the browser, on the real console over a real database. */
import { Amends } from "amends";
import { createConsole } from "amends/console";
import { sqlite } from "amends/sqlite";
import { virtualClock } from "amends/testing";
import { expect, it } from "vitest";
import { numberedIds, ordering, type World } from "../bulk/support/scene.ts";
import { builtConsole } from "../support/built.ts";
import { PHONE } from "./support/browser.ts";
import { eventually, inBrowser, settled } from "./support/stage.ts";

async function shop() {
  const clock = virtualClock(Date.now() - 60_000);
  const world: World = { isDown: true, undone: [] };
  const order = ordering(world);
  const amends = new Amends({ database: sqlite(":memory:", { clock }), sagas: [order] });
  await amends.migrate();
  const work = async (): Promise<void> => {
    do clock.jump(10);
    while ((await amends.worker().runOnce()) > 0);
  };
  await amends.startMany(
    order,
    numberedIds("order", 60).map((id) => ({ id, input: {} })),
  );
  await amends.startMany(
    order,
    numberedIds("waits", 3).map((id) => ({ id, input: { end: "waits" } })),
  );
  await work();
  const server = await createConsole(amends, { assets: await builtConsole() }).listen({ port: 0 });
  const close = async (): Promise<void> => {
    await server.close();
    await amends.close();
  };
  return { amends, world, work, server, close };
}

inBrowser("bulk actions", (stage) => {
  it("[P-04][S-43] all of a filtered list is retried with one reason, and the page shows how far it is", async () => {
    const { amends, world, work, server, close } = await shop();
    const { page, troubles } = await stage.tab();
    await page.goto(server.signInUrl);
    await settled(page);
    await page.locator(".rail-link[data-section=sagas]").click();
    await settled(page);
    const all = page.locator('[data-action="bulk"]');
    expect(await all.isDisabled()).toBe(true);
    await page.getByRole("button", { name: /^Stalled/ }).click();
    await all.click();
    await eventually(() => page.getByTestId("bulk-count").innerText()).toContain("60 sagas");
    const submit = page.locator("dialog[open] button[type=submit]");
    expect(await submit.isDisabled()).toBe(true);
    await page.getByLabel("Reason").fill("the bank is back");
    await submit.click();
    await page.locator("h1", { hasText: "Retry 60 sagas" }).waitFor();
    await eventually(() => page.getByLabel("Progress", { exact: true }).innerText()).toContain("0 of 60");
    world.isDown = false;
    await work();
    await eventually(() => page.getByLabel("Progress", { exact: true }).innerText()).toContain("60 of 60");
    await page.locator("h1", { hasText: "Completed" }).waitFor();
    expect((await amends.bulk.list()).items).toMatchObject([{ done: 60, reason: "the bank is back" }]);
    await page.locator(".crumbs a").click();
    await page.getByRole("link", { name: "Retry: STALLED" }).waitFor();
    expect(troubles).toEqual([]);
    await page.close();
    await close();
  });

  it("[P-04][S-43] refused items are listed with their codes, and an action that runs is stopped with a reason", async () => {
    const { amends, work, server, close } = await shop();
    const { page, troubles } = await stage.tab(PHONE);
    await amends.bulk.start({ action: "cancel", saga: "order", reason: "a test", id: "b-1" });
    await work();
    await page.goto(server.signInUrl);
    await settled(page);
    await page.goto(`${server.url}#/bulk/b-1`);
    await page.locator("h1", { hasText: "Cancel 63 sagas" }).waitFor();
    const refused = page.getByLabel("Refused items");
    await eventually(() => refused.innerText()).toContain("NOT_ALLOWED_NOW");
    expect(await refused.getByRole("link").count()).toBe(60);
    await amends.bulk.start({ action: "retry", saga: "order", reason: "a test", id: "b-2" });
    await page.goto(`${server.url}#/bulk/b-2`);
    await page.locator('[data-action="stop"]').click();
    await page.getByRole("button", { name: "Started by mistake" }).click();
    await page.locator("dialog[open] button[type=submit]").click();
    await page.locator("h1", { hasText: "Stopped" }).waitFor();
    expect(await amends.bulk.get("b-2")).toMatchObject({
      status: "stopped",
      stop: { reason: "Started by mistake" },
    });
    expect(troubles).toEqual([]);
    await page.close();
    await close();
  });
});
