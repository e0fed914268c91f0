/**
 * What a test file needs before it can run, found by what it imports, directly or through its support files: a file that
 * reaches tools/build.mjs runs what was built, one that reaches tools/restate.mjs a Restate server, and one that reaches
 * playwright-core a browser. The files in test/clients use clients that are installed there.
 */
import { readFileSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { root } from "./project.mjs";
import { importsOf } from "./source-text.mjs";

/** @typedef {"build" | "browser" | "clients" | "restate"} Need */

/**
 * The test files below a folder, from the project's root, with forward slashes.
 * @param {string} folder
 * @returns {string[]}
 */
export function testFiles(folder) {
  return readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.ts") && !name.includes("node_modules"))
    .map((name) => path.posix.join(folder, name.split(path.sep).join("/")))
    .toSorted();
}

/**
 * The test files below a folder that need something.
 * @param {string} folder
 * @returns {string[]}
 */
export function needyFiles(folder) {
  return testFiles(folder).filter((file) => needsOf(file).length > 0);
}

/** @type {Map<string, import("./source-text.mjs").Import[]>} */
const read = new Map();

/** @param {string} file */
function importsIn(file) {
  const known = read.get(file) ?? importsOf(readFileSync(file, "utf8"));
  read.set(file, known);
  return known;
}

/**
 * @param {string} file from the project's root
 * @param {string} [base]
 * @returns {Need[]}
 */
export function needsOf(file, base = root) {
  /** @type {Set<Need>} */
  const needs = new Set();
  if (file.startsWith("test/clients/")) needs.add("clients");
  const reached = new Set([file]);
  for (const one of reached) {
    for (const { specifier, typeOnly } of importsIn(path.join(base, one))) {
      if (typeOnly) continue;
      if (specifier === "playwright-core") needs.add("browser");
      if (!specifier.startsWith(".")) continue;
      const target = path.posix.join(path.posix.dirname(one), specifier);
      if (target === "tools/build.mjs") needs.add("build");
      if (target === "tools/restate.mjs") needs.add("restate");
      // The sources are run by everything, and reach neither.
      if (/^(?:test|tools|examples)\//.test(target) && isFile(path.join(base, target))) reached.add(target);
    }
  }
  return [...needs];
}

/** @param {string} file */
function isFile(file) {
  return statSync(file, { throwIfNoEntry: false })?.isFile() === true;
}
