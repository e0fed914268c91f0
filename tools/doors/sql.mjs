/** Where SQL stands, and who may name a table. */
import { lineAt } from "../source-text.mjs";
import { belowSrc, TABLE_FILE } from "./sources.mjs";

/**
 * @typedef {import("./sources.mjs").Source} Source
 * @typedef {import("./sources.mjs").Table} Table
 * @typedef {import("./sources.mjs").Violation} Violation
 */

const SQL_MODULE = "src/storage/sql.ts";
const SQL_PACKAGE = "sql-template-tag";
const MIGRATIONS = "src/storage/migrations/";

/**
 * Statements are built with the values of storage/sql.ts and with nothing else. So SQL stands in storage/ and in files
 * named `*queries.ts` if no other file imports such a value. Types (`Sql`) may go everywhere. Outside storage/ nobody
 * passes the values on.
 * @param {Source} source
 * @returns {Violation[]}
 */
export function checkSqlPlacement({ file, edges }) {
  if (file.startsWith("src/storage/")) return [];
  return edges
    .filter(({ target, specifier }) => target === SQL_MODULE || specifier === SQL_PACKAGE)
    .flatMap(({ line, exported, names }) => {
      const values = names.filter(({ typeOnly }) => !typeOnly).map(({ name }) => name);
      if (values.length === 0) return [];
      const listed = values.map((name) => `\`${name}\``).join(", ");
      if (exported)
        return [{ file, line, message: `${listed} may not be exported again; import it where it is used` }];
      if (/(?:^|\/|-)queries\.ts$/.test(file)) return [];
      const message = `imports ${listed}; SQL stands only in storage/ and in files named *queries.ts`;
      return [{ file, line, message, key: belowSrc(file) }];
    });
}

/**
 * Every table and view that the migrations make has one owner, and nobody else names it.
 * @param {Source[]} sources
 * @param {Table} table
 * @param {(name: string) => number} lineOf where the table of doors names a database table
 * @returns {Violation[]}
 */
export function checkTables(sources, table, lineOf) {
  const made = new Set(
    sources
      .filter(({ file }) => file.startsWith(MIGRATIONS))
      .flatMap((source) => namedTables(source, table).map(({ name }) => name)),
  );
  const known = Object.entries(table.tables).flatMap(([name, owner]) => {
    const at = { file: TABLE_FILE, line: lineOf(name) };
    if (!sources.some(({ file }) => isOwned(file, owner)))
      return [{ ...at, message: `"${owner}", the owner of ${name}, does not exist` }];
    return made.has(name) ? [] : [{ ...at, message: `no migration names the table ${name}; remove it` }];
  });
  const named = sources.flatMap((source) => {
    const { file } = source;
    /** @type {Set<string>} */
    const seen = new Set();
    return namedTables(source, table).flatMap(({ name, index }) => {
      const owner = table.tables[name];
      const isPermitted =
        owner !== undefined && (file.startsWith(MIGRATIONS) || isOwned(file, owner) || seen.has(name));
      if (isPermitted) return [];
      seen.add(name);
      const line = lineAt(source.text, index);
      if (owner === undefined)
        return [{ file, line, message: `the table ${name} has no owner in ${TABLE_FILE}` }];
      const message = `names the table ${name}, which ${owner} owns; ask ${owner} for the rows`;
      return [{ file, line, message, key: `${belowSrc(file)}: ${name}` }];
    });
  });
  return [...known, ...named];
}

/** @param {string} file @param {string} owner a room, a folder or a file, below src/ */
function isOwned(file, owner) {
  return file === `src/${owner}` || file.startsWith(`src/${owner}/`);
}

/**
 * The tables that a file names: in `table("x")` and `table: "x"`; as a string of its own where the name has an
 * underscore, which no other word has; and as a word of an sql template.
 * @param {Source} source
 * @param {Table} table
 * @returns {{ name: string, index: number }[]}
 */
function namedTables({ text, parts, code }, table) {
  return parts.flatMap(({ kind, start, end, tag }) => {
    const part = text.slice(start, end);
    if (kind === "string") {
      const context = code.slice(Math.max(0, start - 40), start - 1);
      const isCall = /\btable\(\s*$/.test(context);
      const isKnown = Object.hasOwn(table.tables, part);
      const isNamed =
        (isCall && /^\w+$/.test(part)) ||
        (isKnown && (part.includes("_") || /\btable\??\s*[:=]\s*$/.test(context)));
      return isNamed ? [{ name: part, index: start }] : [];
    }
    if (kind !== "template" || tag !== "sql") return [];
    return [...part.matchAll(/\w+/g)]
      .filter(([word]) => Object.hasOwn(table.tables, word))
      .map((match) => ({ name: match[0], index: start + match.index }));
  });
}
