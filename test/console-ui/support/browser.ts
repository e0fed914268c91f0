/**
 * A real Chromium, found or, as root on Debian, installed. Where none can be had, that is said loudly; whether it is a
 * failure is for CI to say (`CI` or `AMENDS_NEEDS_BROWSER`).
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { chromium, type BrowserContext, type Page } from "playwright-core";

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export function findChromium(): string | undefined {
  const named = process.env["CHROME_PATH"];
  if (named !== undefined && named !== "") return named;
  const found = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
    .map(onPath)
    .find((one) => one !== undefined);
  if (found !== undefined) return found;
  if (process.getuid?.() !== 0 || !existsSync("/etc/debian_version")) return undefined;
  try {
    process.stderr.write("installing chromium for the browser tests …\n");
    execFileSync("apt-get", ["install", "-y", "chromium"], { stdio: "ignore", timeout: 240_000 });
  } catch {
    return undefined;
  }
  return onPath("chromium");
}

function onPath(name: string): string | undefined {
  try {
    return execFileSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).trim() || undefined;
  } catch {
    return undefined;
  }
}

/** Says it loudly, and throws where a browser is demanded. */
export function noBrowser(): void {
  const text = "NO BROWSER: the console was not tried in one. Install chromium, or set CHROME_PATH.";
  process.stderr.write(`\n${"!".repeat(text.length)}\n${text}\n${"!".repeat(text.length)}\n`);
  if (process.env["CI"] ?? process.env["AMENDS_NEEDS_BROWSER"]) throw new Error(text);
}

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

  static async open(executablePath: string): Promise<Window> {
    const folder = mkdtempSync(path.join(tmpdir(), "amends-chromium-"));
    const context = await chromium.launchPersistentContext(folder, {
      executablePath,
      headless: true,
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
