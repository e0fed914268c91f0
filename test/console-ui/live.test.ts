/** What changes while somebody looks: in its place, without a jump, and on again after the line was cut. */
import { expect, it } from "vitest";
import type { Page } from "playwright-core";
import { lineOf, playSaga } from "./support/saga-world.ts";
import { eventually, inBrowser, visit } from "./support/stage.ts";

/** How much anything has shifted since the page was opened, by the browser's own measure. */
const SHIFT = `new Promise((resolve) => {
  let sum = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) sum += entry.value;
  }).observe({ type: "layout-shift", buffered: true });
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => resolve(sum), 50)));
})`;

/** The texts of the second that the first one covers. */
function hiddenBy(over: string, under: string): string {
  return `(() => {
    const cover = document.querySelector(${JSON.stringify(over)}).getBoundingClientRect();
    return [...document.querySelectorAll(${JSON.stringify(under)})].filter((element) => {
      const range = document.createRange();
      range.selectNodeContents(element);
      return [...range.getClientRects()].some((text) => text.left < cover.right && cover.left < text.right
        && text.top < cover.bottom && cover.top < text.bottom);
    }).map((element) => element.textContent);
  })()`;
}

async function tops(page: Page): Promise<readonly number[]> {
  return page.evaluate<number[]>(
    "[...document.querySelectorAll('tbody tr')].slice(0, 12).map((row) => row.getBoundingClientRect().top)",
  );
}

async function cardTops(page: Page): Promise<readonly number[]> {
  return page.evaluate<number[]>(
    "[...document.querySelectorAll('.card')].map((card) => card.getBoundingClientRect().top)",
  );
}

inBrowser("live", (stage) => {
  it("[P-04] a row changes in its place, and what is new waits until it is asked for", async () => {
    const fixture = await stage.fixture();
    const { page, troubles } = await stage.tab();
    await visit(page, fixture, "#/sagas");
    const before = await tops(page);
    const first = await page.locator("tbody tr .row-link").first().innerText();
    const line = fixture.world.sagas.get("o-4711");
    if (!line) throw new Error("The world has no o-4711.");
    const done = { ...line, detail: { ...line.detail, status: "COMPLETED" as const } };
    fixture.world.sagas.set("o-4711", done);
    const born = playSaga({
      id: "new-1",
      name: "place-order",
      ending: "RUNNING",
      startMs: Date.now(),
      input: {},
    });
    fixture.world.sagas.set("new-1", born);
    fixture.tell({ sagas: [lineOf(born), lineOf(done)] });
    await page.locator("tbody tr", { hasText: "o-4711" }).getByText("Completed").waitFor();
    await page.getByRole("button", { name: "1 newer" }).waitFor();
    expect(await page.locator("tbody tr .row-link").first().innerText()).toBe(first);
    expect(await tops(page)).toEqual(before);
    expect(await page.evaluate<number>(SHIFT)).toBeLessThan(0.02);
    await page.keyboard.press("r");
    await page.locator("tbody tr", { hasText: "new-1" }).waitFor();
    expect(troubles).toEqual([]);
    await page.close();
  });

  it("[P-04] an open saga follows every step, and its picture does not move", async () => {
    const fixture = await stage.fixture();
    const { page, troubles } = await stage.tab();
    const seed = { name: "onboard-tenant", startMs: Date.now() - 9_000, input: {}, id: "watched" } as const;
    fixture.world.sagas.set("watched", playSaga({ ...seed, ending: "RUNNING" }));
    await visit(page, fixture, "#/sagas/watched");
    const node = page.locator('[data-node="act:issue-certificate"]');
    expect(await node.getAttribute("data-state")).toBe("running");
    const box = await node.boundingBox();
    fixture.world.sagas.set("watched", playSaga({ ...seed, ending: "COMPLETED" }));
    fixture.tell({ watched: [{ id: "watched", revision: 9 }] });
    await page.locator("h1 .state", { hasText: "Completed" }).waitFor();
    expect(await node.getAttribute("data-state")).toBe("done");
    expect(await node.boundingBox()).toEqual(box);
    expect(troubles).toEqual([]);
    await page.close();
  });

  it("[P-04] the overview follows what changes, and nothing on it shifts", async () => {
    const fixture = await stage.fixture();
    const { page, troubles } = await stage.tab();
    await visit(page, fixture, "#/");
    await page.locator(".need").first().waitFor();
    await page.evaluate(SHIFT);
    const at = await cardTops(page);
    fixture.world.attention = fixture.world.attention.slice(1);
    fixture.tell();
    await eventually(() => page.locator(".tile-figure").first().innerText()).toBe("6");
    await eventually(() => page.locator(".rail [data-testid=attention-count]").innerText()).toContain("6");
    const after = await cardTops(page);
    expect(after).toEqual(at);
    expect(troubles).toEqual([]);
    await page.close();
  });

  it("[P-04] when the server goes away the page says so, keeps what it shows, and goes on by itself", async () => {
    const fixture = await stage.fixture();
    const { page } = await stage.tab();
    await visit(page, fixture, "#/sagas");
    await page.locator('.rail .live[data-state="live"]').waitFor();
    await fixture.drop();
    await page.locator('.rail .live[data-state="offline"]').waitFor();
    await page.getByText("The server has not answered").waitFor();
    await page.getByRole("button", { name: /^Running/u }).click();
    expect(await page.locator("tbody tr").count()).toBe(40);
    await fixture.raise();
    await page.locator('.rail .live[data-state="live"]').waitFor({ timeout: 20_000 });
    await eventually(() => page.locator("tbody tr").count()).toBe(5);
    expect(await page.getByText("The server has not answered").count()).toBe(0);
    await page.close();
  });

  it("[P-04] neither the banner of a lost connection nor the button for newer rows hides a title or a head", async () => {
    const fixture = await stage.fixture();
    const { page } = await stage.tab();
    await visit(page, fixture, "#/sagas");
    const born = playSaga({
      id: "new-1",
      name: "place-order",
      ending: "RUNNING",
      startMs: Date.now(),
      input: {},
    });
    fixture.world.sagas.set("new-1", born);
    fixture.tell({ sagas: [lineOf(born)] });
    await page.getByRole("button", { name: "1 newer" }).waitFor();
    expect(await page.evaluate<string[]>(hiddenBy(".newer", "th"))).toEqual([]);
    await fixture.drop();
    await page.locator(".banner").waitFor();
    expect(await page.evaluate<string[]>(hiddenBy(".banner", "h1, .page-head p, .tools, th"))).toEqual([]);
    await fixture.raise();
    await page.close();
  });

  it("[P-04] a page asks for each thing once when it is opened, and notices do not multiply its requests", async () => {
    const fixture = await stage.fixture();
    const { page } = await stage.tab();
    const asked = (path: string): number => fixture.reads.filter((read) => read.path === path).length;
    await visit(page, fixture, "#/");
    await page.locator('.rail .live[data-state="live"]').waitFor();
    expect(fixture.reads.map(({ path }) => path).toSorted()).toEqual([
      "attention",
      "overview",
      "overview/history",
    ]);
    await visit(page, fixture, "#/sagas");
    await page.locator('.rail .live[data-state="live"]').waitFor();
    fixture.reads.length = 0;
    const line = fixture.world.sagas.get("o-4711");
    if (!line) throw new Error("The world has no o-4711.");
    for (let notices = 0; notices < 20; notices += 1) fixture.tell({ sagas: [lineOf(line)] });
    // What has not changed is answered without a body.
    await eventually(async () => fixture.reads.filter(({ status }) => status === 304).length).toBe(1);
    expect([asked("sagas"), asked("overview") <= 1]).toEqual([1, true]);
    await page.close();
  });

  it("[P-04] a page that is left open keeps nothing of what it no longer shows", async () => {
    const fixture = await stage.fixture();
    const { page } = await stage.tab();
    await visit(page, fixture, "#/");
    await page.locator(".need").first().waitFor();
    const cdp = await page.context().newCDPSession(page);
    const nodes = async (): Promise<number> => {
      await cdp.send("HeapProfiler.collectGarbage");
      return (await cdp.send("Memory.getDOMCounters")).nodes;
    };
    const all = fixture.world.attention;
    const show = async (count: number): Promise<void> => {
      fixture.world.attention = all.slice(0, count);
      fixture.tell();
      await eventually(() => page.locator(".need").count()).toBe(count);
    };
    await show(0);
    await show(5);
    const before = await nodes();
    for (let round = 0; round < 5; round += 1) {
      await show(0);
      await show(5);
    }
    // Five items of some fourteen nodes each came and went five times.
    expect((await nodes()) - before).toBeLessThan(20);
    await page.close();
  });
});
