/** A process with a worker that starts the sagas of ticks. It kills itself at its n-th durable point, if it is told one. */
import { Amends } from "amends";
import { Effects, recorder } from "../external-world/effects.ts";
import { withCrashPoints, type AtPoint } from "../harness/crash-points.ts";
import { openSandbox, type Sandbox } from "../harness/sandbox.ts";
import { LEASE_MS, report } from "./yearly.ts";

export interface TickingInstructions {
  readonly sandbox: Sandbox;
  /** The point at which it kills itself, from 1 on. */
  readonly crashAt?: number;
}

const { sandbox, crashAt } = JSON.parse(process.argv[2] as string) as TickingInstructions;
let points = 0;
const atPoint: AtPoint = async () => {
  points++;
  if (points !== crashAt) return;
  process.kill(process.pid, "SIGKILL");
  // The signal may arrive a moment after the call that sends it.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
};
const amends = new Amends({
  database: withCrashPoints(await openSandbox(sandbox, 3), atPoint),
  sagas: [report],
  lease: LEASE_MS,
  middleware: [recorder(new Effects(sandbox.effects))],
});
await amends.worker({ poll: 50 }).start();
process.once("message", () => {
  void amends.close().then(() => process.exit(0));
});
