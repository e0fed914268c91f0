/**
 * `npm start`: a shop on a SQLite file, with its console, its worker and the systems around it, all on this machine. The
 * story plays in this window and in the console. With `-- --once` every open task is done in the end and the process
 * exits; without it, the shop goes on until Ctrl-C, and the tasks are left to you.
 */
import { mkdirSync, rmSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { openDoor } from "./door.ts";
import { Figures } from "./figures.ts";
import { Outside } from "./outside/outside.ts";
import { complete } from "./scenes/complete.ts";
import { declined } from "./scenes/declined.ts";
import { forgotten } from "./scenes/forgotten.ts";
import { killed } from "./scenes/killed.ts";
import { mended } from "./scenes/mended.ts";
import { restocked } from "./scenes/restocked.ts";
import { stalled } from "./scenes/stalled.ts";
import { told } from "./scenes/told.ts";
import { yourTurn } from "./scenes/your-turn.ts";
import { Screen } from "./screen.ts";
import { Shop } from "./shop/shop.ts";
import type { Stage } from "./stage.ts";
import { listenForStop } from "./stopping.ts";
import { Traffic } from "./traffic.ts";

const { values: asked } = parseArgs({
  options: {
    once: { type: "boolean", default: false },
    port: { type: "string", default: "7007" },
    assets: { type: "string" },
  },
});

const folder = path.join(process.cwd(), ".amends", "tour");
const screen = new Screen();
const stop = listenForStop();

// Every run of the tour begins anew.
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });

const outside = new Outside();
await outside.open();
const shop = new Shop(folder, outside.url);
await shop.open();
outside.partners.ledgerSecret = await shop.subscribePartners(outside.url);
await shop.amends.worker({ poll: "200ms" }).start();
const door = await openDoor(shop, { port: Number(asked.port), assets: asked.assets });
let orders = 1_000;
const stage: Stage = {
  screen,
  shop,
  outside,
  door,
  folder,
  figures: new Figures(shop, outside),
  tasks: [],
  nextId: () => `o-${(orders += 1)}`,
};

screen.title(
  "Amends: sagas that finish, or make amends",
  "A shop on a SQLite file, and the systems around it, on this machine only.",
);
screen.gap();
screen.link("console", door.signInUrl);
screen.fact("", "Open it first: it signs you in. The links below work after that.");
screen.fact("data", `${path.relative(process.cwd(), folder)}, new on every start`);
if (door.movedFrom !== undefined) {
  screen.fact("", `Port ${door.movedFrom} is in use, so the console has another one.`);
}

const stopped = new Promise<void>((resolve) => stop.addEventListener("abort", () => resolve()));
await Promise.race([tell(), stopped]);
if (stop.aborted) screen.say("Stopping: no new work is taken, running calls may finish.");
const openItems = await stage.figures.attention();
await door.close();
await shop.close();
outside.close();
farewell();
// A scene that was cut short may still wait for something.
process.exit();

async function tell(): Promise<void> {
  const story = [complete, declined, killed, restocked, told, forgotten, stalled];
  let number = 0;
  for (const scene of [...story, asked.once ? mended : yourTurn]) {
    await scene(stage, (number += 1));
    screen.figures(await stage.figures.line());
    if (number === 1) screen.figures(Figures.legend);
  }
  if (!asked.once) await new Traffic(stage, stop).run();
}

function farewell(): void {
  const file = path.join(path.relative(process.cwd(), folder), "shop.db");
  const { released } = shop.amends.counters;
  screen.scene(9, "Summary");
  screen.gap();
  for (const [name, value] of stage.figures.summary(openItems)) screen.fact(name, value);
  if (released > 0) screen.fact("", `${released} orders were given back for the next worker.`);
  screen.fact("data", `${file}, new on every start`);
  screen.gap();
  screen.say("The event log of one order:");
  screen.command(`sqlite3 -box ${file} "select step_name, action, status`);
  screen.command(`  from amends_saga_history where saga_id = 'o-1005' order by id, part"`);
  screen.say("The tests, on SQLite and on a real PostgreSQL:");
  screen.command("npm test");
  screen.say("A saga of your own, in your project (README.md has the first steps):");
  screen.command("npm install amends && npx amends init");
  screen.gap();
}
