/** The process that is killed (SIGKILL), or stopped past its leases (SIGSTOP), at one of its crash points. */
import { writeSync } from "node:fs";
import type { ChildReport } from "../child-processes/messages.ts";
import { openSandbox, type Sandbox } from "../harness/sandbox.ts";
import { withCrashPoints, type CrashPoint } from "../harness/crash-points.ts";
import { runWorkload, receivers, webhooksOn } from "./webhook-workload.ts";

interface WebhookInstructions {
  readonly sandbox: Sandbox;
  readonly point?: string;
  readonly signal?: "SIGKILL" | "SIGSTOP";
}

const LEASE_MS = 400;
const { sandbox, point, signal } = JSON.parse(process.argv[2] as string) as WebhookInstructions;
const points = new Map<string, CrashPoint>();
let reached = false;

async function atPoint(at: CrashPoint): Promise<void> {
  if (at.name.includes("renewal") || points.has(at.name)) return;
  points.set(at.name, at);
  if (at.name !== point || signal === undefined) return;
  reached = true;
  writeSync(1, "stopping\n");
  process.kill(process.pid, signal);
  // The signal may arrive a moment after the call that sends it. The process waits, so that nothing else happens.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
}

function sendReport(report: ChildReport): Promise<void> {
  return new Promise((resolve) => process.send?.(report, () => resolve()));
}

const inner = await openSandbox(sandbox);
const database = withCrashPoints(inner, atPoint);
const sender = receivers(sandbox.effects, (name) => atPoint({ name, locked: false }));
const amends = webhooksOn(database, sender, LEASE_MS);
try {
  await runWorkload(amends, database);
  await sendReport({
    kind: "finished",
    run: 0,
    reached,
    points: [...points.values()],
    counters: amends.counters,
    lost: 0,
  });
} catch (error) {
  const { code, stack } = error as { code?: string; stack?: string };
  await sendReport({ kind: "threw", run: 0, reached, code, text: stack ?? String(error) });
}
await amends.close();
process.exit(0);
