/**
 * `npm test`: the whole gate, one line per stage. Every stage runs even when an earlier one failed, so that one
 * run shows all there is to mend. With arguments only the tests run, and the arguments go to vitest; such a
 * partial run builds what its tests ask for, and leaves the report of the last whole run alone.
 */
import { existsSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { buildPackage, buildTests } from "./build.mjs";
import { checks } from "./checks.mjs";
import { ensureClients } from "./clients.mjs";
import { ensureRestate } from "./restate.mjs";
import { ensureInstalled, node, program, root, toolMain } from "./project.mjs";
import { runStages } from "./stages.mjs";

const vitestArgs = process.argv.slice(2);
const partial = vitestArgs.length > 0;
const report = path.join(".amends", partial ? "partial-report.json" : "test-report.json");

async function build() {
  const [published, forTests] = await Promise.all([buildPackage(), buildTests()]);
  return { ok: published.ok && forTests.ok, output: published.output + forTests.output };
}

async function tests() {
  rmSync(path.join(root, report), { force: true });
  // A reporter that is named on the command line takes the place of all configured ones.
  const reporter = vitestArgs.some((arg) => arg.startsWith("--reporter")) ? ["--reporter=json"] : [];
  const env = { AMENDS_TEST_REPORT: report };
  return program("vitest", ["run", ...vitestArgs, ...reporter], { show: true, env });
}

/** Its warnings are shown also where it succeeds. */
async function guarantees() {
  const outcome = await node(["tools/guarantees.mjs", "--quiet"]);
  if (outcome.ok && outcome.output !== "") console.log(outcome.output.trimEnd());
  return outcome;
}

function totals() {
  const file = path.join(root, report);
  if (!existsSync(file)) return { passed: 0, failed: 0 };
  const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(file, "utf8"));
  return { passed: numPassedTests, failed: numFailedTests };
}

await toolMain(async () => {
  await ensureInstalled();
  const isWanted = (/** @type {string} */ what) => !partial || vitestArgs.some((arg) => arg.includes(what));
  if (isWanted("clients")) await ensureClients();
  if (isWanted("restate")) await ensureRestate();
  const groups = partial
    ? [[/** @type {const} */ (["tests", tests])]]
    : [
        [...checks, /** @type {const} */ (["build", build])],
        [/** @type {const} */ (["tests", tests])],
        [/** @type {const} */ (["guarantees", guarantees])],
      ];
  let ok = true;
  for (const group of groups) ok = (await runStages(group)) && ok;
  const { passed, failed } = totals();
  console.log(`${passed} passed, ${failed} failed`);
  if (!ok || passed === 0) process.exitCode = 1;
});
