/** Coming in, going out, finding one's way: tokens, mounts, keys, themes. */
import { gzipSync } from "node:zlib";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { TOKEN } from "./fixture-server.ts";
import { seriousFindings } from "./support/accessibility.ts";
import { PHONE } from "./support/browser.ts";
import { builtConsole } from "../support/built.ts";
import { eventually, inBrowser, settled, visit } from "./support/stage.ts";

inBrowser("session", (stage) => {
  it("[X-01] a token in the address signs in once and is taken out of it; a wrong one is refused", async () => {
    const fixture = await stage.fixture({ open: false });
    await stage.window().forgetCookies();
    const { page, troubles } = await stage.tab();
    await page.goto(`${fixture.url}#token=wrong`);
    await page.getByText("This token is not valid").waitFor();
    expect(page.url()).not.toContain("wrong");
    expect(await seriousFindings(page)).toEqual([]);
    await page.goto("about:blank");
    await page.goto(`${fixture.url}#token=${TOKEN}`);
    await settled(page);
    expect(await page.locator("h1").innerText()).toBe("Overview");
    expect(page.url()).not.toContain(TOKEN);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token").fill(TOKEN);
    await page.getByRole("button", { name: "Sign in" }).click();
    await settled(page);
    expect(troubles).toEqual([]);
    const message = "This browser is signed out, but the sign-out could not be recorded";
    await page.route("**/api/session", (route) =>
      route.fulfill({ status: 503, json: { code: "SIGN_OUT_NOT_RECORDED", message } }),
    );
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("alert").getByText(message).waitFor();
    await page.close();
  });

  it("[X-01] a session that ends leads to the door, and back to where one was", async () => {
    const fixture = await stage.fixture({ open: false });
    await stage.window().forgetCookies();
    const { page } = await stage.tab();
    await page.goto(`${fixture.url}#token=${TOKEN}`);
    await settled(page);
    await visit(page, fixture, "#/outbox");
    await stage.window().forgetCookies();
    // The stream ends with the session, and that alone is noticed.
    await fixture.drop();
    await fixture.raise();
    await page.getByLabel("Token").fill(TOKEN, { timeout: 20_000 });
    await page.getByRole("button", { name: "Sign in" }).click();
    await settled(page);
    expect(await page.locator("h1").innerText()).toBe("Outbox");
    await page.close();
  });

  it("[P-04] it works under whatever path it is mounted", async () => {
    const fixture = await stage.fixture({ mount: "/ops/tools/amends/" });
    const { page, troubles } = await stage.tab();
    await visit(page, fixture, "#/sagas/o-4711");
    expect(await page.locator("h1").innerText()).toContain("place-order");
    // Whom the application signed in, the application signs out.
    expect(await page.getByRole("button", { name: "Sign out" }).count()).toBe(0);
    expect(troubles).toEqual([]);
    await page.close();
  });

  it("[P-04] everything can be reached by keyboard", async () => {
    const fixture = await stage.fixture();
    const { page } = await stage.tab();
    await visit(page, fixture, "#/");
    for (const [key, heading] of [
      ["a", "Needs attention"],
      ["f", "Event flows"],
      ["b", "Outbox"],
      ["w", "Webhooks"],
      ["e", "Erasures"],
      ["u", "Audit"],
      ["s", "Sagas"],
    ] as const) {
      // The second key of a sequence counts for 1.5 s after the first: on a busy machine a person types it again.
      await eventually(async () => {
        await page.keyboard.press("g");
        await page.keyboard.press(key);
        return page.locator("h1", { hasText: heading }).count();
      }).toBe(1);
    }
    await settled(page);
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    const focused = await page.evaluate<string>("document.activeElement.getAttribute('href')");
    expect(focused).toBe(await page.locator("[data-row]").first().getAttribute("href"));
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "Timeline" }).waitFor();
    await page.keyboard.press("u");
    await page.locator("h1", { hasText: "Sagas" }).waitFor();
    // What is typed goes to the element that has the focus: on a busy machine that takes a moment.
    const field = page.locator("input:focus");
    await settled(page);
    await page.keyboard.press("/");
    await field.waitFor();
    await page.keyboard.type("o-47");
    await eventually(() => page.locator("tbody tr").count()).toBe(1);
    await page.keyboard.press("Escape");
    await eventually(() => page.locator("tbody tr").count()).toBe(40);
    await page.keyboard.press("Escape");
    await eventually(() => field.count()).toBe(0);
    await page.keyboard.press("?");
    const shortcuts = page.getByRole("dialog", { name: "Keyboard shortcuts" });
    await shortcuts.waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await shortcuts.waitFor({ state: "hidden" });
    await page.keyboard.press("Control+k");
    await field.waitFor();
    await page.keyboard.type("o-4711");
    await page.getByRole("option", { name: /o-4711/u }).waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await page.keyboard.press("Enter");
    await page.locator("h1", { hasText: "place-order" }).waitFor();
    await page.close();
  });

  it("[P-04] the theme is the system's until somebody chooses, and the choice lasts", async () => {
    const fixture = await stage.fixture();
    const { page } = await stage.tab({ scheme: "dark" });
    const shown = (): Promise<string> => page.evaluate("document.documentElement.dataset.theme");
    await visit(page, fixture, "#/");
    expect(await shown()).toBe("dark");
    await page.locator(".rail [data-testid=theme]").click();
    expect(await shown()).toBe("light");
    await page.reload();
    await settled(page);
    expect(await shown()).toBe("light");
    await page.evaluate("localStorage.clear()");
    await page.close();
  });

  it("[P-04] on a phone every room is under the thumb", async () => {
    const fixture = await stage.fixture();
    const { page } = await stage.tab(PHONE);
    await visit(page, fixture, "#/");
    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("dialog").getByRole("link", { name: "Erasures" }).click();
    await page.locator("h1", { hasText: "Erasures" }).waitFor();
    await eventually(() => page.locator("dialog[open]").count()).toBe(0);
    expect(await page.locator(".tab[aria-current=page]").innerText()).toContain("More");
    await page.close();
  });

  it("[P-04] scripts and styles travel compressed, in the encoding that the browser accepts", async () => {
    const fixture = await stage.fixture();
    const page = await (await fetch(fixture.url)).text();
    const [script] = /assets\/index-[\w-]+\.js/u.exec(page) ?? [];
    const ask = async (accepts: string) => {
      const response = await fetch(`${fixture.url}${script}`, { headers: { "accept-encoding": accepts } });
      const text = await response.text();
      return {
        encoding: response.headers.get("content-encoding"),
        vary: response.headers.get("vary"),
        length: text.length,
      };
    };
    const plain = await ask("identity");
    expect(plain).toMatchObject({ encoding: null, vary: "accept-encoding" });
    expect(plain.length).toBeGreaterThan(1_000);
    for (const [accepts, encoding] of [
      ["gzip, deflate, br", "br"],
      ["gzip;q=0.8, br;q=0", "gzip"],
      ["*", "br"],
    ] as const) {
      expect(await ask(accepts)).toEqual({ ...plain, encoding });
    }
  });

  it("[P-04] the licences of all bundled libraries are shipped with the pages", async () => {
    const notices = readFileSync(path.join(await builtConsole(), "THIRD-PARTY-NOTICES.txt"), "utf8");
    for (const name of [
      "preact",
      "@preact/signals",
      "@preact/signals-core",
      "uplot",
      "@dagrejs/dagre",
      "@dagrejs/graphlib",
    ]) {
      expect(notices).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(MIT\\)$`, "mu"));
    }
    expect(notices.match(/Permission is hereby granted/gu)?.length).toBeGreaterThanOrEqual(6);
  });

  it("[P-04] the assets weigh less than 120 kB, gzipped", async () => {
    const folder = await builtConsole();
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(
      (file) => file.isFile() && /\.(?:js|css|html|svg)$/u.test(file.name),
    );
    const bytes = files.map((file) => gzipSync(readFileSync(path.join(file.parentPath, file.name))).length);
    expect(files.length).toBeGreaterThanOrEqual(4);
    expect(bytes.reduce((sum, one) => sum + one, 0)).toBeLessThan(120_000);
  });
});
