/**
 * The services of examples/frameworks, used as a reader of them would: each is copied out of the project, installed against
 * the packed package, built by its own command, and tested.
 *
 *   npm run frameworks              all of them
 *   npm run frameworks -- nest      some of them
 */
import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { buildPackage } from "./build.mjs";
import { pack } from "./package-check.mjs";
import { ensureInstalled, npm, program, progress, root, toolMain } from "./project.mjs";

const examples = path.join(root, "examples", "frameworks");
const LEFT_OUT = ["node_modules", "dist", ".next"];

/**
 * @param {string[]} args
 * @param {string} folder
 */
async function must(args, folder) {
  const { ok, output } = await npm(args, folder);
  if (!ok) throw new Error(`npm ${args.join(" ")} failed in ${path.basename(folder)}:\n${output}`);
}

/**
 * @param {string} name
 * @param {string} folder
 * @param {string} tarball
 */
async function prepare(name, folder, tarball) {
  const copy = path.join(folder, name);
  const filter = (/** @type {string} */ file) => !LEFT_OUT.includes(path.basename(file));
  cpSync(path.join(examples, name), copy, { recursive: true, filter });
  // The tarball takes the place of the version in package.json; everything else is as package-lock.json says.
  await must(["install", tarball, "--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts"], copy);
  await must(["run", "build"], copy);
}

await toolMain(async () => {
  await ensureInstalled();
  const all = readdirSync(examples);
  const names = process.argv.length > 2 ? process.argv.slice(2) : all;
  const unknown = names.filter((name) => !all.includes(name));
  if (unknown.length > 0) throw new Error(`There is no ${unknown.join(", ")}. There are: ${all.join(", ")}.`);
  const built = await buildPackage();
  if (!built.ok) throw new Error(built.output);
  const folder = mkdtempSync(path.join(tmpdir(), "amends-frameworks-"));
  try {
    const tarball = await pack();
    for (const name of names)
      await progress(`${name}: install and build`, () => prepare(name, folder, tarball));
    const env = {
      AMENDS_FRAMEWORKS: folder,
      AMENDS_FRAMEWORK_NAMES: names.join(","),
      AMENDS_TEST_REPORT: ".amends/frameworks-report.json",
    };
    const outcome = await program("vitest", ["run", "test/frameworks/"], { show: true, env });
    if (!outcome.ok) process.exitCode = 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
