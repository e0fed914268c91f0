/** `npm start`: the tour, from a fresh clone on. Arguments go to the tour. */
import path from "node:path";
import { pathToFileURL } from "node:url";
import { buildConsole, buildTests } from "./build.mjs";
import { ensureInstalled, root, toolMain } from "./project.mjs";

await toolMain(async () => {
  await ensureInstalled();
  for (const { ok, output } of await Promise.all([buildTests(), buildConsole()])) {
    if (!ok) throw new Error(output);
  }
  process.setSourceMapsEnabled(true);
  process.chdir(root);
  // In this very process: it hears Ctrl-C itself, and ends in its own time.
  await import(pathToFileURL(path.join(root, "build", "examples", "tour", "main.js")).href);
});
