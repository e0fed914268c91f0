/** After the story: orders keep coming until somebody presses Ctrl-C. */
import { setTimeout as pause } from "node:timers/promises";
import type { Order } from "./place-order.ts";
import type { Stage } from "./stage.ts";

type Counts = Pick<Stage["amends"]["counters"], "completed" | "failed">;

const EVERY_MS = 150;
const REPORT_MS = 5_000;

export async function keepSelling(stage: Stage, stop: AbortSignal): Promise<void> {
  const { screen, amends, placeOrder } = stage;
  screen.scene(5, "Orders keep coming. Press Ctrl-C to stop.");
  screen.say("Some cards are declined, some parcels cannot be sent; those orders are undone.");
  screen.gap();
  const before = { ...amends.counters };
  let reportedAtMs = performance.now();
  for (let count = 1; !stop.aborted; count++) {
    await amends.start(placeOrder, orderNumber(count), { id: stage.nextId() });
    screen.status(`   ${summary(stage, count, before)}`);
    if (!screen.live && performance.now() - reportedAtMs >= REPORT_MS) {
      reportedAtMs = performance.now();
      screen.say(summary(stage, count, before));
    }
    await pause(EVERY_MS, undefined, { signal: stop }).catch(() => undefined);
  }
}

function summary({ amends }: Stage, orders: number, before: Counts): string {
  const completed = amends.counters.completed - before.completed;
  const failed = amends.counters.failed - before.failed;
  return `${orders} orders: ${completed} completed, ${failed} undone, ${orders - completed - failed} under way`;
}

function orderNumber(count: number): Order {
  if (count % 7 === 0) return { sku: "coffee", cents: 25_000, address: "Oslo" };
  if (count % 11 === 0) return { sku: "tea", cents: 2_000, address: "the moon" };
  return { sku: count % 2 === 0 ? "tea" : "coffee", cents: 700 + count, address: "Lisbon" };
}
