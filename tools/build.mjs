/**
 * Builds what is published (src and the console's assets into dist/), with --console the assets alone, or with --tests
 * what child processes run (everything into build/).
 * Inside build/, `import "amends"` means build/src: a package.json there says so.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { isMain, program, root, toolMain } from "./project.mjs";

/** @returns {Promise<import("./project.mjs").Outcome>} */
export async function buildPackage() {
  rmSync(path.join(root, "dist"), { recursive: true, force: true });
  const [library, assets] = await Promise.all([
    program("tsc", ["-p", "tsconfig.build.json"]),
    buildConsole(),
  ]);
  return { ok: library.ok && assets.ok, output: library.output + assets.output };
}

/**
 * The console's browser side, into dist/console-assets unless told otherwise.
 * @param {string} [outDir]
 * @returns {Promise<import("./project.mjs").Outcome>}
 */
export async function buildConsole(outDir) {
  const where = outDir === undefined ? [] : ["--outDir", outDir];
  return program("vite", ["build", "-c", "console-ui/vite.config.ts", ...where]);
}

/** @returns {Promise<import("./project.mjs").Outcome>} */
export async function buildTests() {
  return buildAside("tsconfig.tests.json");
}

/**
 * What `npm start` runs, without the tests.
 * @returns {Promise<import("./project.mjs").Outcome>}
 */
export async function buildTour() {
  return buildAside("tsconfig.tour.json");
}

/**
 * @param {string} config
 * @returns {Promise<import("./project.mjs").Outcome>}
 */
async function buildAside(config) {
  const outcome = await program("tsc", ["-p", config]);
  /** @type {{ name: string, type: string, exports: Record<string, string | { default: string }> }} */
  const { name, type, exports } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
  const doors = Object.entries(exports).flatMap(([door, target]) =>
    typeof target === "string" ? [] : [[door, target.default.replace("./dist/", "./src/")]],
  );
  mkdirSync(path.join(root, "build"), { recursive: true });
  const manifest = { name, private: true, type, exports: Object.fromEntries(doors) };
  writeFileSync(path.join(root, "build", "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  return outcome;
}

if (isMain(import.meta.url)) {
  await toolMain(async () => {
    const what = process.argv.includes("--tests")
      ? buildTests
      : process.argv.includes("--console")
        ? () => buildConsole()
        : buildPackage;
    const outcome = await what();
    if (!outcome.ok) throw new Error(outcome.output);
  });
}
