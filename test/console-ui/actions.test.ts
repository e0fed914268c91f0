/** What an operator does: everything that needs a person is mended from here, with a reason. */
import { expect, it } from "vitest";
import type { Page } from "playwright-core";
import { PHONE } from "./support/browser.ts";
import { seriousFindings } from "./support/accessibility.ts";
import { eventually, inBrowser, settled, visit } from "./support/stage.ts";
import { lineOf } from "./support/saga-world.ts";
import { REFUSED_REASON } from "./support/world-actions.ts";
import { attentionOf } from "./support/world.ts";

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
  await dialog(page).getByLabel("Reason").fill(reason);
  await submit(page).click();
}

inBrowser("actions", (stage) => {
  it("[P-02] every action asks for a reason, sends it, and shows what came of it", async () => {
    const fixture = await stage.fixture();
    const { page, troubles } = await stage.tab();
    const chooseEnding = (): Promise<void> => dialog(page).getByLabel("Rolled back").check();
    const cases: readonly (readonly [
      hash: string,
      action: string,
      path: string,
      more: Readonly<Record<string, unknown>>,
      after: string,
      before?: () => Promise<void>,
    ])[] = [
      ["#/sagas/o-4711", "retry", "sagas/o-4711/retry", {}, "Compensating"],
      ["#/sagas/re-7013", "resolve", "sagas/re-7013/resolve", { as: "FAILED" }, "Rolled back", chooseEnding],
      ["#/sagas/on-7039", "cancel", "sagas/on-7039/cancel", {}, "Compensating"],
      ["#/schedules/nightly-invoices", "pause", "schedules/nightly-invoices/pause", {}, "Paused"],
      ["#/schedules/payouts-acme", "resume", "schedules/payouts-acme/resume", {}, "Active"],
      ["#/outbox/0193-e1", "requeue", "outbox/0193-e1/requeue", {}, "Pending"],
      ["#/flows/f-1", "retry", "flows/f-1/retry", {}, "Compensating"],
      ["#/webhooks/subscriptions/2", "enable", "webhooks/subscriptions/2/enable", {}, "Active"],
      ["#/webhooks/deliveries/501", "resend", "webhooks/deliveries/501/resend", {}, "Pending"],
      ["#/webhooks/subscriptions/1", "pause", "webhooks/subscriptions/1/pause", {}, "Paused"],
      ["#/webhooks/subscriptions/3", "unsubscribe", "webhooks/subscriptions/3/unsubscribe", {}, "Deleted"],
    ];
    for (const [hash, action, path, more, after, before] of cases) {
      await visit(page, fixture, hash);
      expect(await page.locator("h1 .state", { hasText: after }).count(), `${hash} before`).toBe(0);
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
    expect(await page.locator(".attention-card").count()).toBe(before);
    await page.locator('.attention-card[data-kind="abandoned-entry"] [data-action="requeue"]').click();
    expect(await seriousFindings(page)).toEqual([]);
    await page.getByRole("button", { name: "The cause is fixed" }).click();
    await submit(page).click();
    await eventually(() => page.locator(".attention-card").count()).toBe(before - 1);
    fixture.tell();
    await eventually(() => page.locator(".tabbar [data-testid=attention-count]").innerText()).toContain(
      String(before - 1),
    );
    await page.locator('.attention-card[data-kind="dead-letter"] [data-action="dismiss"]').click();
    await page.getByLabel("Reason").fill("settled with the partner");
    await submit(page).click();
    await eventually(() => page.locator(".attention-card").count()).toBe(before - 2);
    expect(troubles).toEqual([]);
    await page.close();
  });

  it("[P-02] skipping a failed undo says that the undo is skipped, warns, and asks for no result", async () => {
    const fixture = await stage.fixture();
    const { page } = await stage.tab();
    const revision = fixture.world.sagas.get("o-4711")?.detail.revision;
    await visit(page, fixture, "#/sagas/o-4711");
    expect(await page.locator('main [data-action="skip"]').getAttribute("data-kind")).toBe("danger");
    await carryOut(page, "skip", "refunded in the dashboard", async () => {
      const words = await dialog(page).innerText();
      expect(words).toContain("Skip the undo of charge");
      expect(words).toContain("without calling it");
      expect(
        await dialog(page)
          .getByLabel(/Result/u)
          .count(),
      ).toBe(0);
      expect(await submit(page).getAttribute("data-kind")).toBe("danger");
    });
    await page.locator("h1 .state", { hasText: "Rolled back" }).waitFor();
    expect(fixture.writes.at(-1)?.body).toEqual({
      reason: "refunded in the dashboard",
      step: "charge",
      revision,
    });
    await page.close();
  });

  it("[P-02] of several failed undos the dialog names the one that is chosen, and says why the saga is stuck", async () => {
    const fixture = await stage.fixture();
    const { page } = await stage.tab();
    fixture.world.attention = fixture.world.attention.map((item) =>
      item.id === "o-4711" ? { ...item, skippable: ["reserve", "charge"] } : item,
    );
    await visit(page, fixture, "#/attention");
    await page.locator('[data-item="stalled-saga o-4711"] [data-action="skip"]').click();
    expect(await dialog(page).innerText()).toContain("Skip the undo of reserve");
    expect(await dialog(page).innerText()).toContain("The undo of step charge failed (BankClosed).");
    await dialog(page).getByLabel("Undo of step").selectOption("charge");
    expect(await dialog(page).getByRole("heading").innerText()).toBe("Skip the undo of charge");
    await page.close();
  });

  it("[P-02] an item offers in words only what its buttons allow, and a single dangerous action is not recommended", async () => {
    const fixture = await stage.fixture();
    const { page } = await stage.tab();
    fixture.world.attention = fixture.world.attention.map((item) =>
      item.id === "o-4711" ? { ...item, actions: ["retry", "resolve"], skippable: [] } : item,
    );
    await visit(page, fixture, "#/attention");
    const stalled = page.locator('[data-item="stalled-saga o-4711"]');
    expect(await stalled.innerText()).toContain("settle it by hand, then resolve");
    expect(await stalled.innerText()).not.toContain("skip");
    const overdue = page.locator('.attention-card[data-kind="overdue-erasure"]').first();
    expect(await overdue.locator(".row-link").innerText()).toBe("erasure of user-3");
    const run = page.locator('.attention-card[data-kind="stalled-run"]').first();
    expect(await run.locator(".row-link").innerText()).toBe("convention_init srn:conv:berlin-26");
    await visit(page, fixture, "#/sagas/on-7039");
    expect(await page.locator('main [data-action="cancel"]').getAttribute("data-kind")).toBe("danger");
    await page.close();
  });

  it("[P-02] skipping a step names its result, resending names the instant", async () => {
    const fixture = await stage.fixture();
    const { page } = await stage.tab();
    const stalled = fixture.world.sagas.get("o-4711");
    if (!stalled) throw new Error("The world has no o-4711.");
    const detail = { ...stalled.detail, undoErrors: [], skippable: ["email"] };
    fixture.world.sagas.set("o-4711", { ...stalled, detail });
    await visit(page, fixture, "#/sagas/o-4711");
    await carryOut(page, "skip", "sent by hand", async () => {
      const result = page.getByLabel(/Result of the step/u);
      await result.fill("{ not json");
      await page.getByLabel("Reason").fill("sent by hand");
      expect(await submit(page).isDisabled()).toBe(true);
      await result.fill('{ "id": 7 }');
    });
    await page.locator("h1 .state", { hasText: "Rolled back" }).waitFor();
    expect(fixture.writes.at(-1)?.body).toMatchObject({
      step: "email",
      result: { id: 7 },
      revision: detail.revision,
    });
    await visit(page, fixture, "#/webhooks/subscriptions/1");
    await carryOut(page, "resend", "they lost it");
    await page.getByText("resend started, 12 deliveries").waitFor();
    expect(fixture.writes.at(-1)?.body).toHaveProperty("since", expect.stringMatching(/^\d{4}-.*Z$/u));
    await page.close();
  });

  it("[P-02] a resend to a disabled subscription enables it first, and says so", async () => {
    const fixture = await stage.fixture();
    const { page } = await stage.tab();
    await visit(page, fixture, "#/attention");
    const card = page.locator('.attention-card[data-kind="dead-letter"]');
    expect(await card.innerText()).toContain("order.placed → Warehouse partner, east");
    await card.getByRole("button", { name: "Enable and resend" }).click();
    expect(await dialog(page).innerText()).toContain(
      "Warehouse partner, east is disabled, so it is enabled first",
    );
    await page.getByLabel("Reason").fill("it is back");
    await submit(page).click();
    await card.waitFor({ state: "detached" });
    expect(fixture.writes.at(-1)).toMatchObject({
      path: "webhooks/deliveries/501/resend",
      body: { reason: "it is back", enable: true },
    });
    await page.locator('.attention-card[data-kind="disabled-subscription"]').waitFor({ state: "detached" });
    await page.close();
  });

  it("[P-02] for an endpoint that is gone the first button unsubscribes it, and its dead letters go with it", async () => {
    const fixture = await stage.fixture();
    const east = fixture.world.subscriptions.get("2");
    const letter = fixture.world.deliveries.get("501");
    if (!east || !letter) throw new Error("The world has no warehouse in the east.");
    const gone = { ...east, reason: "gone", actions: ["unsubscribe", "enable"] } as const;
    fixture.world.subscriptions.set("2", gone);
    const subscription = { ...letter.subscription, gone: true };
    fixture.world.deliveries.set("501", { ...letter, subscription, actions: ["dismiss", "resend"] });
    fixture.world.attention = attentionOf(fixture.world);
    const { page } = await stage.tab();
    await visit(page, fixture, "#/attention");
    const before = await page.locator(".attention-card").count();
    const card = page.locator('.attention-card[data-kind="disabled-subscription"]');
    const first = card.locator("[data-action]").first();
    expect([await first.innerText(), await first.getAttribute("data-kind")]).toEqual([
      "Unsubscribe",
      "danger-primary",
    ]);
    expect(await card.innerText()).toContain("gone for good: unsubscribe it");
    await first.click();
    await dialog(page).getByRole("button", { name: "The endpoint is gone for good" }).click();
    await submit(page).click();
    await eventually(() => page.locator(".attention-card").count()).toBe(before - 2);
    await page.getByText("Warehouse partner, east: unsubscribed, 1 dead letter dismissed").waitFor();
    await page.close();
  });

  it("[P-02][O-21] an abandoned erasure is confirmed by hand, with the evidence as the reason", async () => {
    const fixture = await stage.fixture();
    const { page } = await stage.tab();
    await visit(page, fixture, "#/outbox/0193-e1");
    await carryOut(page, "resolve", "the provider closed: letter of 3 May", async () => {
      expect(await dialog(page).innerText()).toContain("Do this only with evidence");
    });
    await page.locator("h1 .state", { hasText: "Succeeded" }).waitFor();
    expect(fixture.writes.at(-1)).toMatchObject({
      path: "outbox/0193-e1/resolve",
      body: { reason: "the provider closed: letter of 3 May" },
    });
    await page.close();
  });

  it("[P-04] after an action the focus is on the next item, and a keyboard user goes on from there", async () => {
    const fixture = await stage.fixture();
    const { page } = await stage.tab();
    await visit(page, fixture, "#/attention");
    const keys = async (): Promise<readonly (string | null)[]> =>
      Promise.all(
        (await page.locator(".attention-card").all()).map((card) => card.getAttribute("data-item")),
      );
    const focused = (): Promise<string | null> =>
      page.evaluate(
        "document.activeElement.closest('[data-item]')?.dataset.item ?? document.activeElement.tagName",
      );
    const [, second, third] = await keys();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    expect(await focused()).toBe(second);
    await page.locator(`[data-item="${second}"] [data-action="retry"]`).focus();
    await page.keyboard.press("Enter");
    // A person types once the dialog is there and has the focus.
    await dialog(page).locator("textarea:focus, input:focus").waitFor();
    await page.keyboard.type("the bank is open");
    for (
      let stops = 0;
      stops < 8 && (await dialog(page).locator("button[type=submit]:focus").count()) === 0;
      stops += 1
    )
      await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await eventually(async () => (await keys())[1]).toBe(third);
    await eventually(focused).toBe(third);
    await page.close();
  });

  it("[P-04] an item that leaves the list while its dialog is open gives the focus to the next one", async () => {
    const fixture = await stage.fixture();
    const { page } = await stage.tab();
    await visit(page, fixture, "#/attention");
    const cards = page.locator(".attention-card");
    const nextKey = await cards.nth(1).getAttribute("data-item");
    await cards.first().locator("[data-action]").first().focus();
    await page.keyboard.press("Enter");
    await dialog(page).waitFor();
    fixture.world.attention = fixture.world.attention.slice(1);
    const line = fixture.world.sagas.get("o-4711");
    if (!line) throw new Error("The world has no o-4711.");
    const count = { value: fixture.world.attention.length, exact: true };
    fixture.tell({ attention: count, sagas: [lineOf(line)] });
    await eventually(() => cards.first().getAttribute("data-item")).toBe(nextKey);
    await page.keyboard.press("Escape");
    const focused = (): Promise<string | null> =>
      page.evaluate("document.activeElement.closest('[data-item]')?.dataset.item ?? null");
    await eventually(focused).toBe(nextKey);
    expect(await dialog(page).count()).toBe(0);
    await page.close();
  });

  it("[P-04] a toast names the item, follows it to its outcome, and leads to it", async () => {
    const fixture = await stage.fixture();
    const { page } = await stage.tab();
    await visit(page, fixture, "#/attention");
    const stalled = fixture.world.sagas.get("o-4711");
    if (!stalled) throw new Error("The world has no o-4711.");
    await page.locator('[data-item="stalled-saga o-4711"] [data-action="retry"]').click();
    await page.getByLabel("Reason").fill("the bank is open");
    await submit(page).click();
    const toast = page.locator(".toast", { hasText: "place-order o-4711" });
    await toast.getByText("place-order o-4711: retry started").waitFor();
    expect(await toast.getAttribute("data-state")).toBe("busy");
    fixture.world.sagas.set("o-4711", stalled);
    fixture.tell({ sagas: [lineOf(stalled)] });
    await toast.getByText("stalled again: the undo of step charge failed (BankClosed)").waitFor();
    expect(await toast.getAttribute("data-state")).toBe("bad");
    await toast.getByRole("link", { name: "Open" }).click();
    await page.locator("h1", { hasText: "place-order" }).waitFor();
    await page.close();
  });

  it("[P-04] the badge is the length of the list as soon as the list has changed", async () => {
    const fixture = await stage.fixture();
    const { page } = await stage.tab();
    await visit(page, fixture, "#/attention");
    const count = fixture.world.attention.length;
    await page.locator('.attention-card[data-kind="abandoned-entry"] [data-action="requeue"]').click();
    await page.getByLabel("Reason").fill("the cause is fixed");
    await submit(page).click();
    // The server tells nothing: the list alone is read again.
    await eventually(() => page.locator(".attention-card").count()).toBe(count - 1);
    expect(await page.locator(".rail [data-testid=attention-count]").innerText()).toContain(
      String(count - 1),
    );
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
