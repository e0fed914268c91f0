/** The process that is stopped at one of its points: killed, or put to sleep until its leases are long lost. */
import { writeSync } from "node:fs";
import type { Report } from "./orders.ts";
import { openPlace, type Place } from "./place.ts";
import { probe, type Point } from "./probe.ts";
import { play, receivers, webhooksOn } from "./webhooks-play.ts";

interface WebhookOrders {
  readonly place: Place;
  readonly point?: string;
  readonly signal?: "SIGKILL" | "SIGSTOP";
}

const LEASE_MS = 400;
const { place, point, signal } = JSON.parse(process.argv[2] as string) as WebhookOrders;
const points = new Map<string, Point>();
let reached = false;

async function reach(at: Point): Promise<void> {
  if (at.name.includes("renewal") || points.has(at.name)) return;
  points.set(at.name, at);
  if (at.name !== point || signal === undefined) return;
  reached = true;
  writeSync(1, "stopping\n");
  process.kill(process.pid, signal);
  // The signal may arrive a moment after the call that sent it: nothing else happens in between.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
}

function tell(report: Report): Promise<void> {
  return new Promise((resolve) => process.send?.(report, () => resolve()));
}

const inner = await openPlace(place);
const database = probe(inner, reach);
const sender = receivers(place.effects, (name) => reach({ name, locked: false }));
const amends = webhooksOn(database, sender, LEASE_MS);
try {
  await play(amends, database);
  await tell({ kind: "finished", lane: 0, reached, points: [...points.values()], counters: amends.counters });
} catch (error) {
  const { code, stack } = error as { code?: string; stack?: string };
  await tell({ kind: "threw", lane: 0, reached, code, text: stack ?? String(error) });
}
await amends.close();
process.exit(0);
