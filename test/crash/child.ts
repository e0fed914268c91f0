/**
 * The process that is killed. It runs its lanes side by side; each waits at its own point, with its leases kept alive
 * as by any slow call, until all have got there. Then the process sends itself the signal: SIGKILL, which no code
 * can answer, or SIGSTOP, after which it finds itself awake again at the same instructions, with its leases long lost.
 */
import { writeSync } from "node:fs";
import { runLane } from "./lane.ts";
import type { Answer, Orders, Report } from "./orders.ts";
import { isQuiet, type Point } from "./probe.ts";
import { scenarioOf } from "./scenarios/all.ts";

const orders = JSON.parse(process.argv[2] as string) as Orders;
let missing = orders.lanes.length;
let wake: () => void = () => undefined;
const woken = new Promise<void>((resolve) => (wake = resolve));

function arrive(): Promise<void> {
  missing--;
  if (missing === 0) setImmediate(signalSelf);
  return woken;
}

function signalSelf(): void {
  // Workers look for work all the time, each time in a short transaction.
  if (orders.signal === "SIGSTOP" && !isQuiet()) return void setImmediate(signalSelf);
  if (orders.signal === "SIGSTOP") writeSync(1, "stopping\n");
  process.kill(process.pid, orders.signal ?? "SIGKILL");
  // The signal may arrive a moment after the call that sent it: nothing else happens in between.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
  wake();
}

const answers = new Map<number, () => void>();
process.on("message", ({ lane }: Answer) => answers.get(lane)?.());

function tell(report: Report): Promise<void> {
  return new Promise((resolve) => process.send?.(report, () => resolve()));
}

async function follow(index: number): Promise<void> {
  const { place, point } = orders.lanes[index] as Orders["lanes"][number];
  let reached = false;
  const reach = async ({ name }: Point): Promise<void> => {
    if (name !== point) return;
    reached = true;
    await arrive();
  };
  const cancel = async (sagaId: string): Promise<void> => {
    const answered = new Promise<void>((resolve) => answers.set(index, resolve));
    await tell({ kind: "cancel", lane: index, sagaId });
    await answered;
  };
  try {
    const report = await runLane({ place, scenario: scenarioOf(orders.scenario), reach, cancel });
    await tell({ kind: "finished", lane: index, reached, ...report });
  } catch (error) {
    const { code, stack } = error as { code?: string; stack?: string };
    await tell({ kind: "threw", lane: index, reached, code, text: stack ?? String(error) });
  }
  // A lane that never came to its point must not keep the others waiting; the parent sees that it finished.
  if (point !== undefined && !reached) await arrive();
}

await Promise.all(orders.lanes.map((_, index) => follow(index)));
process.exit(0);
