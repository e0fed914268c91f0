/** Pictures of the console while the tour runs: a real system, in the state that it leaves to its visitor. */
import path from "node:path";
import { TourProcess } from "../../examples/tour-process.ts";
import { PHONE, type Look, type Window } from "./browser.ts";

const DARK: Look = { scheme: "dark" };
const STALLED = "o-1007";
const SHOTS: readonly (readonly [name: string, hash: string, look?: Look])[] = [
  ["attention", "#/attention"],
  ["attention-phone", "#/attention", PHONE],
  ["saga", `#/sagas/${STALLED}`, DARK],
  ["subject", "#/erasures/u-ann"],
  ["webhooks", "#/webhooks", { ...PHONE, ...DARK }],
  ["overview", "#/"],
  ["overview-dark", "#/", DARK],
];

/** Long enough for the plots of the overview to have something to show. */
const LOOKED_AT_MS = 30_000;

export async function takeTourShots(window: Window, folder: string, assets: string): Promise<void> {
  const tour = await TourProcess.start("--port", "0", "--assets", assets);
  const [address] = await tour.hears(/http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]{32}/);
  await tour.hears(/are back: you can now retry what failed/);
  const { page: first } = await window.tab();
  await first.goto(address);
  await first.waitForSelector("h1");
  for (const [name, hash, look] of SHOTS) {
    const { page, troubles } = await window.tab(look);
    await page.goto(`${address.split("#")[0]}${hash}`);
    await page.waitForSelector("h1");
    await page.waitForSelector(".skeleton, [aria-busy=true]", { state: "detached" });
    if (name.startsWith("overview")) await page.waitForTimeout(LOOKED_AT_MS);
    await page.screenshot({ path: path.join(folder, `tour-${name}.png`) });
    if (troubles.length > 0) process.stderr.write(`tour-${name}: ${troubles.join("; ")}\n`);
    await page.close();
  }
  await first.close();
  await tour.interrupt();
}
