/** The checks that read the sources and run nothing: format, lint, types, doors and the records of mutants. */
import { mkdirSync } from "node:fs";
import path from "node:path";
import { node, program, root } from "./project.mjs";

/**
 * What tsc knows of the last run is kept in .amends/, so that it looks only at what has changed since.
 * @type {readonly import("./stages.mjs").Stage[]}
 */
export const checks = [
  ["format", () => program("oxfmt", ["--check"])],
  ["lint", () => program("oxlint", ["--type-aware"])],
  ["types", types],
  ["doors", () => node(["tools/doors.mjs"])],
  ["mutants", () => node(["tools/mutants.mjs", "--check"])],
];

async function types() {
  mkdirSync(path.join(root, ".amends"), { recursive: true });
  const outcomes = await Promise.all([
    incremental("tsconfig.json", "types"),
    incremental("console-ui/tsconfig.json", "types-console"),
    incremental("test/clients/tsconfig.json", "types-clients"),
    incremental("test/restate/tsconfig.json", "types-restate"),
  ]);
  return { ok: outcomes.every(({ ok }) => ok), output: outcomes.map(({ output }) => output).join("") };
}

/**
 * @param {string} config
 * @param {string} name
 */
function incremental(config, name) {
  const file = path.join(root, ".amends", `${name}.tsbuildinfo`);
  return program("tsc", ["-p", config, "--incremental", "--tsBuildInfoFile", file]);
}
