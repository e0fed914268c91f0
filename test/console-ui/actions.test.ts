/** What an operator does: everything that needs a person is mended from here, with a reason. */
import { expect, it } from "vitest";
import type { Page } from "playwright-core";
import { PHONE } from "./support/browser.ts";
import { seriousFindings } from "./support/accessibility.ts";
import { eventually, inBrowser, settled, visit } from "./support/stage.ts";
import { REFUSED_REASON } from "./support/world-actions.ts";

const dialog = (page: Page) => page.locator("dialog[open]");
const submit = (page: Page) => dialog(page).locator("button[type=submit]");

/** Opens the dialog of an action, gives the reason and sends it. */
async function carryOut(
  page: Page,
  action: string,
  reason: string,
  before?: () => Promise<void>,
): Promise<void> {
  await page.locator(`main [data-action="${action}"]`).first().click();
  expect(await submit(page).isDisabled()).toBe(true);
  await before?.();
  await page.getByLabel("Reason").fill(reason);
  await submit(page).click();
}

inBrowser("actions", (stage) => {
  it("[P-02] every action asks for a reason, sends it, and shows what came of it", async () => {
    const fixture = await stage.fixture();
    const { page, troubles } = await stage.tab();
    const chooseEnding = (): Promise<void> => dialog(page).getByLabel("Failed, undone").check();
    const cases: readonly (readonly [
      hash: string,
      action: string,
      path: string,
      more: Readonly<Record<string, unknown>>,
      after: string,
      before?: () => Promise<void>,
    ])[] = [
      ["#/sagas/o-4711", "retry", "sagas/o-4711/retry", {}, "Compensating"],
      [
        "#/sagas/re-7013",
        "resolve",
        "sagas/re-7013/resolve",
        { as: "FAILED" },
        "Failed, undone",
        chooseEnding,
      ],
      ["#/sagas/on-7039", "cancel", "sagas/on-7039/cancel", {}, "Compensating"],
      ["#/outbox/0193-e1", "requeue", "outbox/0193-e1/requeue", {}, "Pending"],
      ["#/flows/f-1", "retry", "flows/f-1/retry", {}, "Compensating"],
      ["#/webhooks/deliveries/501", "resend", "webhooks/deliveries/501/resend", {}, "Pending"],
      ["#/webhooks/subscriptions/2", "enable", "webhooks/subscriptions/2/enable", {}, "Active"],
      ["#/webhooks/subscriptions/1", "pause", "webhooks/subscriptions/1/pause", {}, "Paused"],
      ["#/webhooks/subscriptions/3", "unsubscribe", "webhooks/subscriptions/3/unsubscribe", {}, "Deleted"],
    ];
    for (const [hash, action, path, more, after, before] of cases) {
      await visit(page, fixture, hash);
      await carryOut(page, action, `because of ${action}`, before);
      await page.locator("h1 .state", { hasText: after }).waitFor();
      expect(fixture.writes.at(-1)).toMatchObject({
        path,
        marked: true,
        body: { reason: `because of ${action}`, ...more },
      });
    }
    await visit(page, fixture, "#/audit");
    expect(await page.locator("tbody tr").first().innerText()).toContain("because of unsubscribe");
    expect(troubles).toEqual([]);
    await page.close();
  });

  it("[P-02] the attention list mends what it shows, and its count falls with it", async () => {
    const fixture = await stage.fixture();
    const { page, troubles } = await stage.tab(PHONE);
    await visit(page, fixture, "#/attention");
    const before = fixture.world.attention.length;
    expect(await page.locator(".case").count()).toBe(before);
    await page.locator('.case[data-kind="abandoned-entry"] [data-action="requeue"]').click();
    expect(await seriousFindings(page)).toEqual([]);
    await page.getByRole("button", { name: "The cause is fixed" }).click();
    await submit(page).click();
    await eventually(() => page.locator(".case").count()).toBe(before - 1);
    fixture.tell();
    await eventually(() => page.locator(".tabbar [data-testid=attention-count]").innerText()).toContain(
      String(before - 1),
    );
    await page.locator('.case[data-kind="dead-letter"] [data-action="dismiss"]').click();
    await page.getByLabel("Reason").fill("settled with the partner");
    await submit(page).click();
    await eventually(() => page.locator(".case").count()).toBe(before - 2);
    expect(troubles).toEqual([]);
    await page.close();
  });

  it("[P-02] skipping names the step and its result, resending names the instant", async () => {
    const fixture = await stage.fixture();
    const { page } = await stage.tab();
    const version = fixture.world.sagas.get("o-4711")?.detail.version;
    await visit(page, fixture, "#/sagas/o-4711");
    await carryOut(page, "skip", "settled by hand", async () => {
      await page.getByLabel(/Its result/u).fill("{ not json");
      await page.getByLabel("Reason").fill("settled by hand");
      expect(await submit(page).isDisabled()).toBe(true);
      await page.getByLabel(/Its result/u).fill('{ "id": 7 }');
    });
    await page.locator("h1 .state", { hasText: "Failed" }).waitFor();
    expect(fixture.writes.at(-1)?.body).toMatchObject({ step: "charge", result: { id: 7 }, version });
    await visit(page, fixture, "#/webhooks/subscriptions/1");
    await carryOut(page, "resend", "they lost it");
    await page.getByText("12 deliveries were made.").waitFor();
    expect(fixture.writes.at(-1)?.body).toHaveProperty("since", expect.stringMatching(/^\d{4}-.*Z$/u));
    await page.close();
  });

  it("[P-02] a refusal stays on the screen and changes nothing", async () => {
    const fixture = await stage.fixture();
    const { page } = await stage.tab();
    await visit(page, fixture, "#/sagas/o-4711");
    await carryOut(page, "retry", REFUSED_REASON);
    await dialog(page).getByRole("alert").waitFor();
    expect(await dialog(page).getByRole("alert").innerText()).toContain("More has happened since");
    await page.keyboard.press("Escape");
    await eventually(() => dialog(page).count()).toBe(0);
    expect(await page.locator("h1").innerText()).toContain("Stalled");
    await page.close();
  });

  it("[X-01] stored values are masked until somebody says why, and masked again once the page is left", async () => {
    const fixture = await stage.fixture();
    const { page, troubles } = await stage.tab();
    await visit(page, fixture, "#/sagas/o-4711");
    const values = page.getByRole("region", { name: "Input and results" });
    expect(await values.innerText()).toContain("email");
    expect(await page.locator("body").innerText()).not.toContain("ada@example.com");
    const reveal = async (): Promise<void> => {
      await values.getByRole("button", { name: "Reveal" }).click();
      await page.getByLabel("Reason").fill("looking into it");
      await submit(page).click();
      await values.getByText("ada@example.com").waitFor();
    };
    await reveal();
    expect(fixture.writes.at(-1)).toEqual({
      path: "reveal",
      marked: true,
      body: { kind: "saga", id: "o-4711", reason: "looking into it" },
    });
    await values.getByRole("button", { name: "Hide" }).click();
    expect(await page.locator("body").innerText()).not.toContain("ada@example.com");
    await reveal();
    await page.getByRole("link", { name: "Sagas" }).first().click();
    await page.locator("tbody tr").first().waitFor();
    await page.goBack();
    await settled(page);
    expect(await page.locator("body").innerText()).not.toContain("ada@example.com");
    expect(troubles).toEqual([]);
    await page.close();
  });

  it("[X-01] whoever may only read sees what could be done, and can neither act nor reveal", async () => {
    const fixture = await stage.fixture({ roles: ["read"] });
    const { page } = await stage.tab();
    await visit(page, fixture, "#/sagas/o-4711");
    expect(await page.locator('[data-action="retry"]').isDisabled()).toBe(true);
    expect(await page.getByRole("button", { name: "Reveal" }).count()).toBe(0);
    expect(fixture.writes).toEqual([]);
    await page.close();
  });
});
