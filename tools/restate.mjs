/**
 * Restate, for test/restate, a package of its own: its SDK and its server, and the Node.js that the SDK needs, all from npm.
 *
 *   npm run restate        installs them, and runs all tests of sagas on Restate; `npm test` runs one of them
 *
 * Arguments go to vitest.
 */
import path from "node:path";
import { fetched } from "./fetched.mjs";
import { ensureInstalled, isMain, program, root, toolMain } from "./project.mjs";

/** The version of Node.js that runs sagas on Restate in tests if this one is older. */
const NODE = "22.23.3";
const NODE_MIN = 22;

/** Installs the SDK, the server and Node.js, unless that is done already. */
export async function ensureRestate() {
  await ensureInstalled(path.join(root, "test", "restate"));
  await nodeForRestate();
}

/** A Node.js that the SDK runs on. */
export async function nodeForRestate() {
  if (Number(process.versions.node.split(".")[0]) >= NODE_MIN) return process.execPath;
  const library = `node-${process.platform}-${process.arch}`;
  return path.join(await fetched(library, NODE), "bin", "node");
}

if (isMain(import.meta.url)) {
  await toolMain(async () => {
    await ensureInstalled();
    await ensureRestate();
    const env = { AMENDS_RESTATE: "1", AMENDS_TEST_REPORT: ".amends/restate-report.json" };
    const outcome = await program("vitest", ["run", "test/restate/", ...process.argv.slice(2)], {
      show: true,
      env,
    });
    if (!outcome.ok) process.exitCode = 1;
  });
}
