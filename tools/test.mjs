/**
 * `npm test`: the whole gate, one line per stage. Every stage runs even when an earlier one failed, so that one
 * run shows all there is to mend. With arguments only the tests run, and the arguments go to vitest; such a
 * partial run leaves the report of the last whole run alone.
 */
import { existsSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { buildPackage, buildTests } from "./build.mjs";
import { ensureInstalled, node, program, root, toolMain } from "./project.mjs";

const vitestArgs = process.argv.slice(2);
const partial = vitestArgs.length > 0;
const report = path.join(".amends", partial ? "partial-report.json" : "test-report.json");

/** @typedef {import("./project.mjs").Outcome} Outcome */

/** @type {[string, () => Promise<Outcome>][]} */
const stages = [
  ["format", () => program("oxfmt", ["--check"])],
  ["lint", () => program("oxlint", ["--type-aware"])],
  ["types", types],
  ["doors", () => node(["tools/doors.mjs"])],
  ["build", build],
  ["tests", tests],
  ["guarantees", () => node(["tools/guarantees.mjs", "--quiet"])],
];

async function types() {
  const [library, browser] = await Promise.all([
    program("tsc", ["-p", "tsconfig.json"]),
    program("tsc", ["-p", "console-ui/tsconfig.json"]),
  ]);
  return { ok: library.ok && browser.ok, output: library.output + browser.output };
}

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

function totals() {
  const file = path.join(root, report);
  if (!existsSync(file)) return { passed: 0, failed: 0 };
  const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(file, "utf8"));
  return { passed: numPassedTests, failed: numFailedTests };
}

await toolMain(async () => {
  await ensureInstalled();
  const wanted = partial ? stages.filter(([name]) => name === "build" || name === "tests") : stages;
  let ok = true;
  for (const [name, stage] of wanted) {
    const startedAt = performance.now();
    const outcome = await stage();
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    if (!outcome.ok && outcome.output !== "") console.log(outcome.output.trimEnd());
    console.log(`${outcome.ok ? "ok    " : "FAILED"}  ${name.padEnd(10)} ${seconds.padStart(6)} s`);
    ok &&= outcome.ok;
  }
  const { passed, failed } = totals();
  console.log(`${passed} passed, ${failed} failed`);
  if (!ok || passed === 0) process.exitCode = 1;
});
