/**
 * `npm start`: sagas that complete, fail, crash, recover, stall and are resolved, on an embedded database in this
 * project. With `-- --once` the story is told and the process ends; without it, orders keep coming until Ctrl-C.
 */
import { mkdirSync, rmSync } from "node:fs";
import path from "node:path";
import { keepSelling } from "./live.ts";
import { openAmends, placeOrder } from "./place-order.ts";
import { complete } from "./scenes/complete.ts";
import { declined } from "./scenes/declined.ts";
import { killed } from "./scenes/killed.ts";
import { stalled } from "./scenes/stalled.ts";
import { Screen } from "./screen.ts";
import { Shop } from "./shop.ts";
import type { Stage } from "./stage.ts";

const once = process.argv.includes("--once");
const folder = path.join(process.cwd(), ".amends", "tour");
const screen = new Screen();
const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    // Asked twice: somebody is in a hurry. Nothing is lost; the next worker takes the open orders over.
    if (stop.signal.aborted) process.exit(130);
    stop.abort();
  });
}

// Every run of the tour begins anew.
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });

const shop = new Shop({ file: path.join(folder, "shop.json") });
const saga = placeOrder(shop);
const amends = openAmends(path.join(folder, "shop.db"), saga);
let orders = 1_000;
const stage: Stage = {
  screen,
  shop,
  amends,
  placeOrder: saga,
  folder,
  nextId: () => `o-${(orders += 1)}`,
};

screen.title(
  "Amends: sagas that finish, or make amends",
  "A tour on a SQLite file. It takes about ten seconds.",
);
await amends.migrate();
await amends.worker({ poll: "200ms" }).start();
const stopped = new Promise<void>((resolve) => stop.signal.addEventListener("abort", () => resolve()));
await Promise.race([tell(), stopped]);
if (stop.signal.aborted) screen.say("Stopping: nothing new begins, what runs may finish.");
await amends.close();
farewell();
// A scene that was cut short may still wait for something.
process.exit();

async function tell(): Promise<void> {
  for (const scene of [complete, declined, killed, stalled]) await scene(stage);
  if (!once) await keepSelling(stage, stop.signal);
}

function farewell(): void {
  const file = path.relative(process.cwd(), path.join(folder, "shop.db"));
  const { completed, failed, released } = amends.counters;
  const open = released > 0 ? `, ${released} given back for the next worker` : "";
  screen.scene(once ? 5 : 6, "Where things are, and what to try next");
  screen.gap();
  screen.fact("orders", `${completed} completed, ${failed} undone${open}`);
  screen.fact("the data", `${file}, new on every run`);
  screen.fact("the shop", `${file.replace(/db$/, "json")}, the books of the outside world`);
  screen.gap();
  screen.say("What happened to one order, line by line:");
  screen.command(`sqlite3 -box ${file} "select step_name, action, status`);
  screen.command(`  from amends_saga_history where saga_id = 'o-1006' order by id, part"`);
  screen.say("All of it proven on SQLite and on a real PostgreSQL:");
  screen.command("npm test");
  screen.say("A saga of your own in ten minutes: README.md. Small programs: examples/.");
  screen.gap();
}
