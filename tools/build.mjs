/**
 * Builds what is published (src into dist/), or with --tests what child processes run (everything into build/).
 * Inside build/, `import "amends"` means build/src: a package.json there says so.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { isMain, program, root, toolMain } from "./project.mjs";

/** @returns {Promise<import("./project.mjs").Outcome>} */
export async function buildPackage() {
  rmSync(path.join(root, "dist"), { recursive: true, force: true });
  return program("tsc", ["-p", "tsconfig.build.json"]);
}

/** @returns {Promise<import("./project.mjs").Outcome>} */
export async function buildTests() {
  const outcome = await program("tsc", ["-p", "tsconfig.tests.json"]);
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
    const outcome = process.argv.includes("--tests") ? await buildTests() : await buildPackage();
    if (!outcome.ok) throw new Error(outcome.output);
  });
}
