/** A process with a worker. It runs until it is killed or stopped, and reports after `callsEnough` calls. */
import { Amends, type Middleware } from "amends";
import { Effects, recorder } from "../external-world/effects.ts";
import { LEASE_MS, parcel } from "./many-sagas.ts";
import { openSandbox, type Sandbox } from "../harness/sandbox.ts";

export interface ManySagasInstructions {
  readonly sandbox: Sandbox;
  readonly concurrency: number;
  /** The process reports once, after this number of calls. */
  readonly callsEnough: number;
}

const { sandbox, concurrency, callsEnough } = JSON.parse(process.argv[2] as string) as ManySagasInstructions;
let calls = 0;
const count: Middleware = (_, next) => {
  calls++;
  if (calls === callsEnough) process.send?.({ kind: "enough" });
  return next();
};
const amends = new Amends({
  database: await openSandbox(sandbox, 3),
  sagas: [parcel],
  lease: LEASE_MS,
  middleware: [recorder(new Effects(sandbox.effects)), count],
});
const worker = amends.worker({ concurrency, poll: 100 });
await worker.start();
process.once("message", () => {
  void amends.close().then(() => process.exit(0));
});
