/**
 * A process of its own with a worker whose call never returns. Told to, it stops the worker and closes Amends, says so,
 * and then has nothing left to do.
 */
import process from "node:process";
import { z } from "zod";
import { Amends } from "../../../src/operate/amends.ts";
import { postgres } from "../../../src/postgres.ts";
import { saga } from "../../../src/sagas/define/definition.ts";

// Neither a statement nor a new connection that is not answered ends by itself here.
const database = postgres({
  url: process.argv[2] as string,
  connections: 3,
  statementTimeout: "1h",
  connection: { connectionTimeoutMillis: 3_600_000 },
});
const hung = saga("hung", z.object({})).step("wait", {
  act: () => {
    process.send?.("running");
    return new Promise<never>(() => undefined);
  },
});
const amends = new Amends({ database, sagas: [hung], events: [], calls: [], webhooks: {}, lease: "5s" });
const worker = amends.worker({ poll: "50ms" });
await worker.start();
await amends.start(hung, {}, { id: "hung" });
process.once("message", () => {
  void (async () => {
    await worker.stop({ deadline: "1s" });
    await amends.close();
    process.send?.("closed", () => process.disconnect());
  })();
});
