/** How files are named, how long they are, and how many of them a folder holds. */
import path from "node:path";
import { belowSrc, stemOf } from "./sources.mjs";

/**
 * @typedef {import("./sources.mjs").SourceText} SourceText
 * @typedef {import("./sources.mjs").Table} Table
 * @typedef {import("./sources.mjs").Violation} Violation
 * @typedef {Violation & { key: string, count: number }} Overfull
 */

/**
 * @param {SourceText} source
 * @param {Table} table
 * @returns {Violation[]}
 */
export function checkNameAndSize({ file, text }, table) {
  const found = [];
  const stem = stemOf(file);
  const lines = text.trimEnd().split("\n").length;
  if (table.refusedNames.includes(stem) && !table.allowedFiles.includes(belowSrc(file))) {
    found.push({ file, line: 1, message: `"${stem}" says nothing about what the file holds` });
  }
  if (lines > table.lineMax) {
    const message = `${lines} lines; split it by statement or by phase (at most ${table.lineMax})`;
    found.push({ file, line: lines, message });
  }
  return found;
}

/**
 * A file's name does not begin with the name of a folder that it is in: `console/console-page.ts`. The file that is the
 * room's own concept may have the room's name: `outbox/outbox.ts`.
 * @param {SourceText} source
 * @returns {Violation[]}
 */
export function checkPrefix({ file }) {
  const stem = stemOf(file);
  const folders = path.posix.dirname(belowSrc(file)).split("/");
  const repeated = folders.find((folder) => stem.startsWith(`${folder}-`));
  if (repeated === undefined) return [];
  const shorter = `${stem.slice(repeated.length + 1)}${path.posix.extname(file)}`;
  const message = `the folder is named "${repeated}" already; name the file ${shorter}`;
  return [{ file, line: 1, message, key: belowSrc(file) }];
}

/**
 * Folders with more source files than `filesMax`, sub-folders not counted. The entries, one file each, may be more.
 * @param {string[]} files
 * @param {Table} table
 * @returns {Overfull[]}
 */
export function checkFolders(files, table) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const file of files) {
    const folder = path.posix.dirname(file);
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts]
    .filter(([folder, count]) => folder !== "src" && count > table.filesMax)
    .map(([folder, count]) => ({
      file: folder,
      line: 1,
      message: `${count} files in one folder; divide it by concept (at most ${table.filesMax})`,
      key: folder,
      count,
    }));
}
