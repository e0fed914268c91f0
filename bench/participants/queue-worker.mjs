// A worker's process of worker-processes.mjs: works and rests when it is told to.
import { Amends } from "../../dist/index.js";
import { postgres } from "../../dist/postgres.js";
import { five } from "./trivial-sagas.mjs";

process.once("disconnect", () => process.exit(1));
const [, , url] = process.argv;
const amends = new Amends({ database: postgres({ url }), sagas: [five] });
let worker;

process.on("message", async (said) => {
  if (said === "work") {
    worker = amends.worker({ concurrency: 1_000 });
    await worker.start();
  } else await worker.stop();
  process.send("done");
});
