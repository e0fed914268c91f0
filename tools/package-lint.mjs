/**
 * What others find wrong with the packed package: publint (its manifest), are-the-types-wrong (its types under every
 * module resolution of TypeScript), and links between its pages that lead to files that it does not have.
 */
import { readFileSync } from "node:fs";
import path from "node:path";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";

/**
 * The package has no CommonJS copy: two copies in one process would have two of every class. `require` loads the ES
 * modules from Node.js 20.19 on (the check of the entries does so), which this problem is about.
 */
const ACCEPTED = new Set(["CJSResolvesToESM"]);

/** Sources that pages of the docs name and that only a clone has. */
const ONLY_IN_A_CLONE = /^(?:src|test|tools|bench|console-ui)\//;

/**
 * @param {string} tarball
 * @param {string} folder the unpacked package
 * @returns {Promise<string[]>} what is wrong
 */
export async function lintPackage(tarball, folder) {
  return [...(await manifestProblems(folder)), ...(await typeProblems(tarball))];
}

/** @param {string} folder */
async function manifestProblems(folder) {
  const { messages } = await publint({ pkgDir: folder, pack: false, level: "suggestion" });
  const manifest = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
  return messages.map((message) => `publint: ${formatMessage(message, manifest, { color: false })}`);
}

/** @param {string} tarball */
async function typeProblems(tarball) {
  const packed = createPackageFromTarballData(new Uint8Array(readFileSync(tarball)));
  // The library asks for folders all the time, and would look through the names of all files for each of them.
  const folders = new Set(packed.listFiles().flatMap(ancestors));
  packed.directoryExists = (folder) => folders.has(folder.replace(/\/$/, ""));
  const result = await checkPackage(packed);
  if (!result.types) return ["are-the-types-wrong: the package has no types."];
  return result.problems
    .filter(({ kind }) => !ACCEPTED.has(kind))
    .map((problem) => `are-the-types-wrong: ${JSON.stringify(problem)}`);
}

/**
 * Relative links and pictures of the packed pages that lead nowhere. The README is what a registry shows: it may not
 * name what only a clone has.
 * @param {readonly string[]} names the files of the package
 * @param {(name: string) => string} read
 * @returns {string[]}
 */
export function deadLinks(names, read) {
  const files = new Set(names);
  const folders = new Set(names.flatMap((name) => ancestors(name)));
  return names
    .filter((name) => name.endsWith(".md") && !name.startsWith("dist/"))
    .flatMap((page) =>
      linksOf(read(page)).flatMap((link) => {
        const target = path.posix
          .join(path.posix.dirname(page), link.split("#", 1)[0] ?? "")
          .replace(/\/$/, "");
        if (files.has(target) || folders.has(target)) return [];
        if (page !== "README.md" && ONLY_IN_A_CLONE.test(target)) return [];
        return [`${page}: ${link} is not in the package`];
      }),
    );
}

/** @param {string} name */
function ancestors(name) {
  const parts = name.split("/");
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("/"));
}

/** @param {string} text */
function linksOf(text) {
  const prose = text.replaceAll(/^```[\s\S]*?^```$/gm, "").replaceAll(/`[^`\n]*`/g, "");
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = ""]) => target)
    .filter((target) => !/^(?:[a-z]+:|#)/.test(target));
}
