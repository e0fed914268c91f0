/**
 * The lists of what does not comply yet. A violation that its check's list names is not reported; a name on a list that
 * no violation needs is reported itself. So the lists only shrink, and `--prune` takes out what is no longer needed.
 */
import { TABLE_FILE } from "./sources.mjs";

/**
 * @typedef {import("./sources.mjs").Pending} Pending
 * @typedef {import("./sources.mjs").Violation} Violation
 * @typedef {import("./names.mjs").Overfull} Overfull
 * @typedef {{ [check in Exclude<keyof Pending, "folders">]-?: Violation[] } & { folders: Overfull[] }} Found
 */

/** @type {(keyof Pending)[]} */
const CHECKS = ["sqlPlacement", "tables", "folders", "prefixes", "undocumented", "replacedWords"];

/**
 * @param {Found} found
 * @param {Pending} pending
 * @param {(check: string) => number} lineOf where the table names the list of a check
 * @returns {Violation[]}
 */
export function withoutPending(found, pending, lineOf) {
  return CHECKS.flatMap((check) => {
    const line = lineOf(check);
    if (check === "folders") return overfull(found.folders, pending.folders ?? {}, line);
    const keys = keysOf(check, pending);
    const needed = new Set(found[check].map(({ key }) => key));
    const stale = [...keys]
      .filter((key) => !needed.has(key))
      .map((key) => ({
        file: TABLE_FILE,
        line,
        message: `"${key}" in pending.${check} is no longer needed; remove it (node tools/doors.mjs --prune)`,
      }));
    return [...found[check].filter(({ key }) => key === undefined || !keys.has(key)), ...stale];
  });
}

/**
 * A pending folder may hold as many files as the list says; the number goes down with the files.
 * @param {Overfull[]} found
 * @param {Record<string, number>} pending
 * @param {number} line
 * @returns {Violation[]}
 */
function overfull(found, pending, line) {
  const grown = found.filter(({ key, count }) => count > (pending[key] ?? 0));
  const shrunk = Object.entries(pending).flatMap(([folder, max]) => {
    const count = found.find(({ key }) => key === folder)?.count ?? 0;
    const change = count === 0 ? "remove it" : `write ${count}`;
    const message = `"${folder}: ${max}" in pending.folders is no longer needed; ${change} (node tools/doors.mjs --prune)`;
    return count < max ? [{ file: TABLE_FILE, line, message }] : [];
  });
  return [...grown, ...shrunk];
}

/**
 * @param {Exclude<keyof Pending, "folders">} check
 * @param {Pending} pending
 * @returns {Set<string>}
 */
function keysOf(check, pending) {
  if (check !== "tables") return new Set(pending[check] ?? []);
  const { tables = {} } = pending;
  return new Set(Object.entries(tables).flatMap(([file, names]) => names.map((name) => `${file}: ${name}`)));
}

/**
 * The lists as the violations of today would fill them.
 * @param {Found} found
 * @returns {Required<Pending>}
 */
export function pendingOf(found) {
  /** @param {keyof Pending} check @returns {string[]} */
  const keys = (check) => [...new Set(found[check].flatMap(({ key }) => key ?? []))].toSorted();
  /** @type {Record<string, string[]>} */
  const tables = {};
  for (const key of keys("tables")) {
    const [file = "", name = ""] = key.split(": ");
    (tables[file] ??= []).push(name);
  }
  const folders = Object.fromEntries(found.folders.map(({ key, count }) => [key, count]));
  return {
    sqlPlacement: keys("sqlPlacement"),
    tables,
    folders,
    prefixes: keys("prefixes"),
    undocumented: keys("undocumented"),
    replacedWords: keys("replacedWords"),
  };
}

/**
 * The lists without what is no longer needed. The count of a folder goes down with its files, never up.
 * @param {Found} found
 * @param {Pending} pending
 * @returns {Required<Pending>}
 */
export function pruned(found, pending) {
  const now = pendingOf(found);
  /** @param {"sqlPlacement" | "prefixes" | "undocumented" | "replacedWords"} check */
  const both = (check) => now[check].filter((key) => pending[check]?.includes(key));
  /** @param {string} file */
  const names = (file) => now.tables[file]?.filter((name) => pending.tables?.[file]?.includes(name)) ?? [];
  return {
    sqlPlacement: both("sqlPlacement"),
    tables: Object.fromEntries(
      Object.keys(now.tables)
        .map((file) => /** @type {const} */ ([file, names(file)]))
        .filter(([, kept]) => kept.length > 0),
    ),
    folders: Object.fromEntries(
      Object.entries(now.folders).flatMap(([folder, count]) => {
        const before = pending.folders?.[folder];
        return before === undefined ? [] : [[folder, Math.min(before, count)]];
      }),
    ),
    prefixes: both("prefixes"),
    undocumented: both("undocumented"),
    replacedWords: both("replacedWords"),
  };
}

/**
 * The text of the table with other lists; the rest stays as it was written.
 * @param {string} tableText
 * @param {Pending} pending
 */
export function withPending(tableText, pending) {
  const start = tableText.indexOf('"pending":');
  const before = tableText.slice(0, start);
  if (start === -1 || Object.keys(JSON.parse(tableText)).at(-1) !== "pending")
    throw new Error(`"pending" must be the last key of ${TABLE_FILE}.`);
  return `${before}"pending": ${JSON.stringify(pending, null, 2)}}`;
}
