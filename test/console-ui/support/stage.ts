/** What the browser tests of one file share: the built pages, a browser, and servers that are closed in the end. */
import { afterAll, beforeAll, describe, expect } from "vitest";
import type { Page } from "playwright-core";
import { builtConsole } from "../../support/built.ts";
import { startFixture, type Fixture, type FixtureOptions } from "../fixture-server.ts";
import { Window, type Look, type Tab } from "./browser.ts";

const PATIENCE_MS = 120_000;

export interface Stage {
  /** A server of the fixture world. It lives as long as the file. */
  fixture(options?: Omit<FixtureOptions, "assets">): Promise<Fixture>;
  tab(look?: Look): Promise<Tab>;
  window(): Window;
}

/** Runs the tests in a real browser. Where none can be had they fail, and say what to install. */
export function inBrowser(name: string, tests: (stage: Stage) => void): void {
  describe(name, { timeout: PATIENCE_MS }, () => {
    let window: Window | undefined;
    let folder = "";
    const fixtures: Fixture[] = [];
    const opened = (): Window => {
      if (!window) throw new Error("The browser is not open.");
      return window;
    };
    beforeAll(async () => {
      folder = await builtConsole();
      window = await Window.open();
    });
    afterAll(async () => {
      await window?.close();
      for (const fixture of fixtures) await fixture.close();
    });
    tests({
      fixture: async (options = {}) => {
        const fixture = await startFixture({ ...options, assets: folder });
        fixtures.push(fixture);
        return fixture;
      },
      tab: (look) => opened().tab(look),
      window: opened,
    });
  });
}

/** Opens a page and waits until nothing of it is a skeleton. */
export async function visit(page: Page, fixture: { readonly url: string }, hash: string): Promise<void> {
  await page.goto(`${fixture.url}${hash}`);
  await settled(page);
}

export async function settled(page: Page): Promise<void> {
  await page.waitForSelector("h1");
  await page.waitForSelector(".skeleton, [aria-busy=true]", { state: "detached" });
}

/** Waits until it is so. */
export const eventually: typeof expect.poll = expect.poll;

/** Waits for so many rows. The policy forbids a page to evaluate text, so that asking goes on from here. */
export async function expectRows(page: Page, count: number): Promise<void> {
  await eventually(() => page.locator("tbody tr").count()).toBe(count);
}

/** Nothing is wider than the window: no page scrolls sideways. */
export async function expectNoSidewaysScroll(page: Page): Promise<void> {
  const over = await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
  expect.soft(over, page.url()).toBeLessThanOrEqual(0);
}
