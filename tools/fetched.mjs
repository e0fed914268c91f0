/** Packages from npm that only some commands need, such as other runtimes. They are kept in .amends/matrix. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { npm, root } from "./project.mjs";

const { platform, arch } = process;
const kept = path.join(root, ".amends", "matrix");

export const BUN = {
  version: "1.4.4",
  /** The npm package with its binary. */
  library: `@oven/bun-${platform}-${arch === "arm64" ? "aarch64" : arch}`,
  /** Inside that package. */
  program: "bin/bun",
};

/**
 * Installs one package from npm unless it is there, and returns its folder.
 * @param {string} name
 * @param {string} version
 */
export async function fetched(name, version) {
  const folder = path.join(kept, `${name.replaceAll(/\W+/g, "-")}-${version}`);
  const library = path.join(folder, "node_modules", name);
  if (existsSync(path.join(library, "package.json"))) return library;
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, "package.json"), "{}");
  const flags = ["--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts"];
  const { ok, output } = await npm(["install", `${name}@${version}`, ...flags], folder);
  if (!ok) throw new Error(`${name}@${version} could not be installed:\n${output}`);
  return library;
}

/** The program of Bun. */
export async function bunProgram() {
  return path.join(await fetched(BUN.library, BUN.version), BUN.program);
}
