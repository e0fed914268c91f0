/** A real Chromium, with tabs in which whatever goes wrong is noted. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { chromium, type BrowserContext, type Page } from "playwright-core";
import { findBrowser } from "../../../tools/browser.mjs";

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export interface Look {
  readonly width?: number;
  readonly height?: number;
  readonly scheme?: "light" | "dark";
  readonly touch?: boolean;
}

export const PHONE: Look = { width: 375, height: 740, touch: true };

export interface Tab {
  readonly page: Page;
  /** Whatever went wrong in the page: errors, violations of the policy, dialogs of the browser. */
  readonly troubles: string[];
}

export class Window {
  readonly #context: BrowserContext;
  readonly #folder: string;

  private constructor(context: BrowserContext, folder: string) {
    this.#context = context;
    this.#folder = folder;
  }

  static async open(): Promise<Window> {
    const { executablePath, env } = await findBrowser();
    const folder = mkdtempSync(path.join(tmpdir(), "amends-chromium-"));
    const context = await chromium.launchPersistentContext(folder, {
      executablePath,
      env: { ...process.env, ...env },
      headless: true,
      locale: "en-US",
      args: FLAGS,
      chromiumSandbox: false,
      viewport: null,
      reducedMotion: "reduce",
    });
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    return new Window(context, folder);
  }

  async tab({ width = 1_280, height = 860, scheme = "light" }: Look = {}): Promise<Tab> {
    const page = await this.#context.newPage();
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
    const troubles: string[] = [];
    page.on("pageerror", (error) => troubles.push(`error: ${error.message}`));
    page.on("dialog", (dialog) => {
      troubles.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("console", (message) => {
      if (message.type() === "error" && !/Failed to load resource/u.test(message.text())) {
        troubles.push(`console: ${message.text()}`);
      }
    });
    await page.addInitScript(
      `addEventListener("securitypolicyviolation", (event) => console.error("CSP " + event.violatedDirective + " " + event.blockedURI));`,
    );
    return { page, troubles };
  }

  async forgetCookies(): Promise<void> {
    await this.#context.clearCookies();
  }

  async close(): Promise<void> {
    await this.#context.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
