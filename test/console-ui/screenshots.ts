/**
 * The pictures in docs/screenshots, taken anew: `npm run screenshots`. They show the fixture world, so that they are
 * about the same every time; those that begin with `tour-` show what `npm start` does.
 */
import { mkdirSync } from "node:fs";
import path from "node:path";
import { root } from "../../tools/project.mjs";
import { builtConsole } from "../support/built.ts";
import { startFixture } from "./fixture-server.ts";
import { PHONE, Window, type Look } from "./support/browser.ts";
import { takeTourShots } from "./support/tour-shots.ts";

interface Shot {
  readonly name: string;
  readonly hash: string;
  readonly look?: Look;
  readonly open?: (page: Awaited<ReturnType<Window["tab"]>>["page"]) => Promise<void>;
}

const DARK: Look = { scheme: "dark" };
const SHOTS: readonly Shot[] = [
  { name: "overview", hash: "#/" },
  { name: "overview-dark", hash: "#/", look: DARK },
  { name: "overview-phone", hash: "#/", look: PHONE },
  { name: "attention", hash: "#/attention" },
  { name: "attention-phone", hash: "#/attention", look: { ...PHONE, scheme: "dark" } },
  { name: "sagas", hash: "#/sagas" },
  { name: "sagas-phone", hash: "#/sagas", look: PHONE },
  { name: "saga", hash: "#/sagas/o-4711" },
  { name: "saga-dark", hash: "#/sagas/o-4711", look: DARK },
  { name: "saga-phone", hash: "#/sagas/o-4711", look: PHONE },
  {
    name: "saga-action",
    hash: "#/sagas/o-4711",
    open: (page) => page.locator('[data-action="resolve"]').click(),
  },
  { name: "schedules", hash: "#/schedules" },
  { name: "schedule", hash: "#/schedules/nightly-invoices" },
  { name: "flow", hash: "#/flows/f-1" },
  { name: "outbox", hash: "#/outbox" },
  { name: "webhooks", hash: "#/webhooks" },
  { name: "delivery", hash: "#/webhooks/deliveries/501" },
  { name: "subscription", hash: "#/webhooks/subscriptions/2", look: DARK },
  { name: "erasures", hash: "#/erasures" },
  { name: "subject", hash: "#/erasures/user-7" },
  { name: "audit", hash: "#/audit" },
];

const assets = await builtConsole();
const folder = path.join(root, process.argv[2] ?? path.join("docs", "screenshots"));
mkdirSync(folder, { recursive: true });
const fixture = await startFixture({ assets });
const window = await Window.open();
for (const { name, hash, look, open } of SHOTS) {
  const { page, troubles } = await window.tab(look);
  await page.goto(`${fixture.url}${hash}`);
  await page.waitForSelector("h1");
  await page.waitForSelector(".skeleton", { state: "detached" });
  if (name.startsWith("overview")) {
    // Each look at the overview gives the plots one more point.
    for (let count = 0; count < 14; count += 1) {
      fixture.tell();
      await page.waitForTimeout(1_050);
    }
  }
  await open?.(page);
  await page.screenshot({ path: path.join(folder, `${name}.png`) });
  if (troubles.length > 0) process.stderr.write(`${name}: ${troubles.join("; ")}\n`);
  await page.close();
}
await takeTourShots(window, folder, assets);
await window.close();
await fixture.close();
