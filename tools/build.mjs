/**
 * Builds what is published (src and the console's assets into dist/), with --console the assets alone, or with --tests
 * what child processes run (everything into build/). From the command line a build is always made; a program that
 * needs one gets it made only where a source has changed since.
 * Inside build/, `import "amends"` means build/src: a package.json there says so.
 */
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { ensureFresh } from "./fresh.mjs";
import { isMain, program, root, toolMain } from "./project.mjs";

/**
 * @typedef {import("./project.mjs").Outcome} Outcome
 * @typedef {{ force?: boolean }} Options force: also where no source has changed
 */

/** Where the console's assets are once they are built. */
export const consoleAssets = path.join(root, "dist", "console-assets");

const settings = ["package.json", "package-lock.json", "tsconfig.json"];

/** @type {import("./fresh.mjs").Made} */
const library = {
  name: "library",
  into: "dist",
  proof: "dist/index.js",
  sources: ["src", "tsconfig.build.json", ...settings],
  make: async () => {
    removeAllBut(path.join(root, "dist"), path.basename(consoleAssets));
    return program("tsc", ["-p", "tsconfig.build.json"]);
  },
};

/** @type {import("./fresh.mjs").Made} */
const assets = {
  name: "console",
  into: "dist/console-assets",
  proof: "dist/console-assets/index.html",
  sources: ["console-ui", ...settings],
  make: () => program("vite", ["build", "-c", "console-ui/vite.config.ts"]),
};

/** @type {import("./fresh.mjs").Made} */
const tests = {
  name: "tests",
  into: "build",
  proof: "build/package.json",
  sources: ["src", "test", "examples", "tools", "tsconfig.tests.json", ...settings],
  // Test files run in Vitest only.
  isSource: (file) => !/\.test(-d)?\.ts$/.test(file),
  make: () => buildAside("tsconfig.tests.json"),
};

/** @type {import("./fresh.mjs").Made} */
const tour = {
  name: "tour",
  into: "build",
  proof: "build/package.json",
  sources: ["src", "examples", "tsconfig.tests.json", "tsconfig.tour.json", ...settings],
  make: () => buildAside("tsconfig.tour.json"),
};

/**
 * @param {Options} [options]
 * @returns {Promise<Outcome>}
 */
export async function buildPackage(options) {
  const [code, pages] = await Promise.all([ensureFresh(library, options), buildConsole(options)]);
  return { ok: code.ok && pages.ok, output: code.output + pages.output };
}

/**
 * The console's browser side.
 * @param {Options} [options]
 * @returns {Promise<Outcome>}
 */
export async function buildConsole(options) {
  return ensureFresh(assets, options);
}

/**
 * @param {Options} [options]
 * @returns {Promise<Outcome>}
 */
export async function buildTests(options) {
  return ensureFresh(tests, options);
}

/**
 * What `npm start` runs, without the tests.
 * @returns {Promise<Outcome>}
 */
export async function buildTour() {
  return ensureFresh(tour);
}

/**
 * @param {string} config
 * @returns {Promise<Outcome>}
 */
async function buildAside(config) {
  const outcome = await program("tsc", ["-p", config]);
  removeOrphans();
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

/** What was compiled from a source that was removed or renamed since. */
function removeOrphans() {
  for (const folder of ["src", "test", "examples", "tools"]) {
    const place = path.join(root, "build", folder);
    if (!existsSync(place)) continue;
    for (const name of readdirSync(place, { recursive: true, encoding: "utf8" })) {
      const match = /^(.+)\.(m?)js(?:\.map)?$/.exec(name);
      if (!match) continue;
      const sources = [`${match[1]}.${match[2]}ts`, `${match[1]}.${match[2]}js`];
      if (!sources.some((source) => existsSync(path.join(root, folder, source))))
        rmSync(path.join(place, name));
    }
  }
}

/**
 * @param {string} folder
 * @param {string} kept
 */
function removeAllBut(folder, kept) {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    if (name !== kept) rmSync(path.join(folder, name), { recursive: true });
  }
}

if (isMain(import.meta.url)) {
  await toolMain(async () => {
    const what = process.argv.includes("--tests")
      ? buildTests
      : process.argv.includes("--console")
        ? buildConsole
        : buildPackage;
    const outcome = await what({ force: true });
    if (!outcome.ok) throw new Error(outcome.output);
  });
}
