// The worker's process of start-elsewhere.mjs.
import { Amends } from "../../dist/index.js";
import { postgres } from "../../dist/postgres.js";
import { sagaThatTells } from "./telling-saga.mjs";

process.once("disconnect", () => process.exit(1));
const [, , url] = process.argv;
const amends = new Amends({
  database: postgres({ url }),
  sagas: [sagaThatTells((instant) => process.send(instant))],
});
const worker = amends.worker();
await worker.start();
process.send("working");
process.once("message", async () => {
  await worker.stop();
  await amends.close();
  process.exit(0);
});
