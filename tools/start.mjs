/** `npm start`: the tour, from a fresh clone on. Arguments go to the tour. */
import path from "node:path";
import { buildTests } from "./build.mjs";
import { ensureInstalled, node, root, toolMain } from "./project.mjs";

// The tour hears Ctrl-C as well and ends in its own time; this process waits for it.
process.on("SIGINT", () => undefined);

await toolMain(async () => {
  await ensureInstalled();
  const built = await buildTests();
  if (!built.ok) throw new Error(built.output);
  const tour = path.join(root, "build", "examples", "tour", "main.js");
  const outcome = await node(["--enable-source-maps", tour, ...process.argv.slice(2)], { show: true });
  if (!outcome.ok) process.exitCode = 1;
});
