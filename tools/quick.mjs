/**
 * `npm run quick [room …]`: the checks, the core tests, and the tests of the rooms on SQLite, without any build, in
 * about 30 seconds. `npm run watch [room …]`: the same tests in Vitest's watch mode. AMENDS_DATABASES chooses other
 * databases. Vitest's configuration leaves out the test files that run what was built, or a browser.
 */
import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { checks } from "./checks.mjs";
import { ensureClients } from "./clients.mjs";
import { importersOf } from "./doors.mjs";
import { ensureInstalled, program, root, toolMain } from "./project.mjs";
import { runStages } from "./stages.mjs";
import { needyFiles, testFiles } from "./test-files.mjs";

const watching = process.argv.includes("--watch");
const rooms = process.argv.slice(2).filter((arg) => arg !== "--watch");

await toolMain(async () => {
  await ensureInstalled();
  await ensureClients();
  // The checks read the types of its SDK.
  await ensureInstalled(path.join(root, "test", "restate"));
  const folders = ["core", ...rooms].map((room) => `test/${room}`);
  for (const folder of folders) {
    if (existsSync(path.join(root, folder))) continue;
    const known = readdirSync(path.join(root, "test")).filter((name) => testFiles(`test/${name}`).length > 0);
    throw new Error(`There is no folder ${folder}. Rooms with tests: ${known.join(", ")}.`);
  }
  const left = folders.flatMap(needyFiles);
  const env = {
    AMENDS_DATABASES: process.env["AMENDS_DATABASES"] ?? "sqlite",
    AMENDS_QUICK: "1",
    AMENDS_TEST_REPORT: ".amends/quick-report.json",
  };
  // A filter that ends with a slash cannot mean another folder that only begins alike.
  const filters = folders.map((folder) => `${folder}/`);
  console.log(`Databases: ${env.AMENDS_DATABASES}. npm test runs all of them.`);
  if (left.length > 0)
    console.log(
      `Left to npm test, because they run what was built, a browser, database clients or Restate: ${left.join(", ")}.`,
    );
  const importers = importersOf(rooms).filter((room) => existsSync(path.join(root, "test", room)));
  if (importers.length > 0)
    console.log(`Rooms that import them, left to npm test or to be named here: ${importers.join(", ")}.`);
  if (watching) {
    await program("vitest", ["watch", ...filters], { show: true, env });
    return;
  }
  const tests = () => program("vitest", ["run", ...filters], { env });
  if (!(await runStages([...checks, ["tests", tests]]))) process.exitCode = 1;
});
