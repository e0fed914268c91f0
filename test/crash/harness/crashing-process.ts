/**
 * The process that is killed. It runs several scenario runs side by side. Each run waits at its own crash point, and its
 * leases are renewed as in any slow call, until all runs have arrived. Then the process sends itself the signal:
 * SIGKILL, which no code can handle, or SIGSTOP, after which it continues at the same instruction with lost leases.
 */
import { writeSync } from "node:fs";
import { runScenario } from "./scenario-run.ts";
import type { CancelAnswer, ChildInstructions, ChildReport } from "../child-processes/messages.ts";
import { hasNoOpenTransaction, type CrashPoint } from "./crash-points.ts";
import { scenarioOf } from "../scenarios/all.ts";

const instructions = JSON.parse(process.argv[2] as string) as ChildInstructions;
let missing = instructions.runs.length;
let wake: () => void = () => undefined;
const woken = new Promise<void>((resolve) => (wake = resolve));

function arrive(): Promise<void> {
  missing--;
  if (missing === 0) setImmediate(signalSelf);
  return woken;
}

function signalSelf(): void {
  // A worker that polls has a transaction open for a short time. SIGSTOP must not hit it: it would hold a lock.
  if (instructions.signal === "SIGSTOP" && !hasNoOpenTransaction()) return void setImmediate(signalSelf);
  if (instructions.signal === "SIGSTOP") writeSync(1, "stopping\n");
  process.kill(process.pid, instructions.signal ?? "SIGKILL");
  // The signal may arrive a moment after the call that sends it. The process waits, so that nothing else happens.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
  wake();
}

const answers = new Map<number, () => void>();
process.on("message", ({ run }: CancelAnswer) => answers.get(run)?.());

function sendReport(report: ChildReport): Promise<void> {
  return new Promise((resolve) => process.send?.(report, () => resolve()));
}

async function runOne(index: number): Promise<void> {
  const { sandbox, point } = instructions.runs[index] as ChildInstructions["runs"][number];
  let reached = false;
  const atPoint = async ({ name }: CrashPoint): Promise<void> => {
    if (name !== point) return;
    reached = true;
    await arrive();
  };
  const cancel = async (sagaId: string): Promise<void> => {
    const answered = new Promise<void>((resolve) => answers.set(index, resolve));
    await sendReport({ kind: "cancel", run: index, sagaId });
    await answered;
  };
  try {
    const report = await runScenario({
      sandbox,
      scenario: scenarioOf(instructions.scenario),
      atPoint,
      cancel,
      ...(instructions.leaseMs !== undefined && { leaseMs: instructions.leaseMs }),
    });
    await sendReport({ kind: "finished", run: index, reached, ...report });
  } catch (error) {
    const { code, stack } = error as { code?: string; stack?: string };
    await sendReport({ kind: "threw", run: index, reached, code, text: stack ?? String(error) });
  }
  // A run that missed its point must not block the others. The parent sees from the report that it missed it.
  if (point !== undefined && !reached) await arrive();
}

await Promise.all(instructions.runs.map((_, index) => runOne(index)));
process.exit(0);
