/** `npm start`: the tour, from a fresh clone on. Arguments go to the tour. */
import path from "node:path";
import { pathToFileURL } from "node:url";
import { buildConsole, buildTour } from "./build.mjs";
import { ensureInstalled, progress, root, toolMain } from "./project.mjs";

await toolMain(async () => {
  await ensureInstalled();
  await progress("building", async () => {
    for (const { ok, output } of await Promise.all([buildTour(), buildConsole()])) {
      if (!ok) throw new Error(output);
    }
  });
  process.setSourceMapsEnabled(true);
  process.chdir(root);
  // In this very process: it hears Ctrl-C itself, and ends in its own time.
  await import(pathToFileURL(path.join(root, "build", "examples", "tour", "main.js")).href);
});
