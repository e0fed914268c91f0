/** One of several processes that work on the same orders. It runs until it gets a message. */
import { Amends } from "amends";
import { EntryCalls } from "../external-world/entry-calls.ts";
import { manyOrders, LEASE_MS, recordingWorld } from "./many-orders.ts";
import { openSandbox, type Sandbox } from "../harness/sandbox.ts";
import { definitionsOf } from "../scenarios/scenario.ts";

export interface ManyOrdersInstructions {
  readonly sandbox: Sandbox;
}

const { sandbox } = JSON.parse(process.argv[2] as string) as ManyOrdersInstructions;
const database = await openSandbox(sandbox, 3);
const entryCalls = new EntryCalls(`${sandbox.effects}.calls`);
const definitions = definitionsOf(manyOrders(recordingWorld(database, entryCalls)));
const amends = new Amends({ database, ...definitions, lease: LEASE_MS });
await amends.worker({ concurrency: 8, poll: 30 }).start();
process.send?.({ kind: "started" });
process.once("message", () => {
  void amends.close().then(() => process.exit(0));
});
