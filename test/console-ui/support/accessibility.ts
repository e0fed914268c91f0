/** axe-core, with what it finds in words that help. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Finding {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** How often it is looked again: a list that is being renewed is pale for a moment, and a fault stays. */
const LOOKS_MAX = 4;

/** Everything that axe calls serious or critical, one line each. */
export async function seriousFindings(page: Page): Promise<readonly string[]> {
  let found = await findings(page);
  for (let look = 2; found.length > 0 && look <= LOOKS_MAX; look++) {
    await page.waitForTimeout(400);
    found = await findings(page);
  }
  return found;
}

async function findings(page: Page): Promise<readonly string[]> {
  if (!(await page.evaluate<boolean>("'axe' in globalThis"))) await page.evaluate(source);
  const violations = await page.evaluate<readonly Finding[]>(
    `axe.run(document, { resultTypes: ["violations"], iframes: false, runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] }).then(({ violations }) => violations)`,
  );
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary = "" }) => `${id}: ${html.slice(0, 160)} (${failureSummary})`),
    );
}
