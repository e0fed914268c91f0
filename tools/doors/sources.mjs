/** The files that the checks read, each scanned once, and the rooms that they belong to. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { blank, importsOf, partsOf } from "../source-text.mjs";

/**
 * `opens` lists the rooms that a room may import; "all" is for the entries alone.
 * @typedef {{ opens: string[] | "all", builtins?: boolean, packages?: string[], typePackages?: string[], pure?: boolean }} Room
 *
 * What does not comply yet, per check. An entry that is no longer needed is a violation, so the lists only shrink.
 * @typedef {{
 *   sqlPlacement?: string[],
 *   tables?: Record<string, string[]>,
 *   folders?: Record<string, number>,
 *   prefixes?: string[],
 *   undocumented?: string[],
 *   replacedWords?: string[],
 * }} Pending
 *
 * `tables` names the owner of each table and view: a room, a folder or a file, below src/.
 * @typedef {{
 *   rooms: Record<string, Room>,
 *   tables: Record<string, string>,
 *   refusedNames: string[],
 *   allowedFiles: string[],
 *   lineMax: number,
 *   filesMax: number,
 *   pending: Pending,
 * }} Table
 *
 * `key` is how the pending list of the check names it; without one it cannot be pending.
 * @typedef {{ file: string, line: number, message: string, key?: string }} Violation
 *
 * @typedef {{ file: string, text: string, parts: import("../source-text.mjs").Part[], code: string }} SourceText
 * @typedef {import("../source-text.mjs").Import & { target: string | undefined }} Edge
 * @typedef {SourceText & { room: string, edges: Edge[] }} Source
 */

export const TABLE_FILE = "tools/doors.json";

/**
 * The source files below these folders, their names relative to the project.
 * @param {string} project
 * @param {string[]} folders
 * @returns {SourceText[]}
 */
export function readTexts(project, folders) {
  return folders
    .flatMap((folder) => filesBelow(project, folder))
    .map((file) => {
      const text = readFileSync(path.join(project, file), "utf8");
      const parts = partsOf(text, { jsx: file.endsWith("x") });
      return { file, text, parts, code: blank(text, { parts }) };
    });
}

/**
 * @param {string} project
 * @param {string} folder
 * @returns {string[]}
 */
function filesBelow(project, folder) {
  if (!statSync(path.join(project, folder), { throwIfNoEntry: false })) return [];
  return readdirSync(path.join(project, folder), { withFileTypes: true })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const name = `${folder}/${entry.name}`;
      if (entry.isDirectory()) return entry.name === "node_modules" ? [] : filesBelow(project, name);
      return /\.[cm]?[tj]sx?$/.test(entry.name) ? [name] : [];
    });
}

/**
 * @param {SourceText[]} texts those of src/
 * @param {Table} table
 * @returns {Source[]}
 */
export function sourcesOf(texts, table) {
  return texts.map((source) => ({
    ...source,
    room: roomOf(source.file, table),
    edges: importsOf(source.text, source.parts).map((found) => ({
      ...found,
      target: targetOf(source.file, found.specifier),
    })),
  }));
}

/**
 * The innermost room that the table names; the first folder where it names none.
 * @param {string} file
 * @param {Table} table
 */
export function roomOf(file, table) {
  const folders = belowSrc(file).split("/").slice(0, -1);
  for (let depth = folders.length; depth > 1; depth--) {
    const name = folders.slice(0, depth).join("/");
    if (table.rooms[name] !== undefined) return name;
  }
  return folders[0] ?? "entry";
}

/** @param {string} file */
export function belowSrc(file) {
  return file.replace(/^src\//, "");
}

/** @param {string} file */
export function stemOf(file) {
  return path.posix.basename(file).split(".")[0] ?? "";
}

/**
 * @param {string} file
 * @param {string} specifier
 */
function targetOf(file, specifier) {
  return specifier.startsWith(".") ? path.posix.join(path.posix.dirname(file), specifier) : undefined;
}
