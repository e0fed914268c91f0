/** `npm run bench`: the benchmark is a package of its own, installed at its first use. Arguments go to it. */
import path from "node:path";
import { buildPackage, buildTests } from "./build.mjs";
import { ensureInstalled, node, root, toolMain } from "./project.mjs";

await toolMain(async () => {
  const bench = path.join(root, "bench");
  await ensureInstalled();
  await ensureInstalled(bench);
  for (const built of [await buildPackage(), await buildTests()]) {
    if (!built.ok) throw new Error(built.output);
  }
  const outcome = await node([path.join(bench, "main.mjs"), ...process.argv.slice(2)], { show: true });
  if (!outcome.ok) process.exitCode = 1;
});
