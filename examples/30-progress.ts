/** A long act reports its progress. Its worker is stopped in the middle; the next one goes on from there. */
import { Amends, saga } from "amends";
import { sqlite } from "amends/sqlite";
import { z } from "zod";

const FILES = ["a.csv", "b.csv", "c.csv", "d.csv", "e.csv"];
let stopAfter = 3;

const importFiles = saga("import-files", z.object({})).step("copy", {
  progress: z.object({ done: z.number(), total: z.number() }), // types `progress` and `lastProgress`
  act: async ({ progress, lastProgress, signal, attempt }) => {
    const first = lastProgress?.done ?? 0;
    console.log(`attempt ${attempt} begins at file ${first + 1}`);
    for (const [index, file] of FILES.entries()) {
      if (index < first) continue; // an earlier attempt has copied it
      if (index === stopAfter) {
        stopped();
        await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      }
      console.log(`copied ${file}`);
      progress({ done: index + 1, total: FILES.length }); // costs nothing: the next renewal of the lease stores it
    }
    return { copied: FILES.length };
  },
});

let stopped: () => void = () => undefined;
const isInTheMiddle = new Promise<void>((resolve) => (stopped = resolve));

const amends = new Amends({ database: sqlite(":memory:"), sagas: [importFiles] });
await amends.migrate();

const worker = amends.worker();
await worker.start();
const run = await amends.start(importFiles, {}, { id: "import-1" });
await isInTheMiddle;
await worker.stop({ deadline: "10ms" }); // as in a deploy: the call is aborted, and what it reported is stored

const [reported] = (await amends.inspect("import-1"))?.progress ?? [];
console.log(`${reported?.step} has come to ${JSON.stringify(reported?.value)}`);

stopAfter = Infinity;
const next = amends.worker();
await next.start();
const { status } = await run.result();
console.log(`${status}, progress: ${(await amends.inspect("import-1"))?.progress.length}`);
await next.stop();
await amends.close();
