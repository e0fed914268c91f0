/**
 * Checks the sources against tools/doors.json and tools/replaced-words.json: which room may import which, where SQL
 * stands, who owns a table, how files are named and how many a folder holds, that what users see is documented, and
 * that replaced words stay away. A room is the first folder below src/; the files directly in src/ are the room
 * "entry". A folder inside a room is a room of its own where the table names it ("webhooks/jobs").
 *
 * --mermaid prints the diagram of the docs; --api what each entry offers; --pending what does not comply today, as the
 * lists of doors.json; --prune takes out of these lists what is no longer needed.
 */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { apiOf, checkDocumented, printedApi } from "./doors/api.mjs";
import {
  checkCycles,
  checkImports,
  checkPurity,
  checkStarExports,
  checkTable,
  roomImports,
} from "./doors/imports.mjs";
import { checkFolders, checkNameAndSize, checkPrefix } from "./doors/names.mjs";
import { pendingOf, pruned, withoutPending, withPending } from "./doors/pending.mjs";
import { mermaid } from "./doors/picture.mjs";
import { checkReplacedWords } from "./doors/replaced-words.mjs";
import { readTexts, sourcesOf, TABLE_FILE } from "./doors/sources.mjs";
import { checkSqlPlacement, checkTables } from "./doors/sql.mjs";
import { isMain, program, root } from "./project.mjs";
import { lineAt } from "./source-text.mjs";

/**
 * @typedef {import("./doors/sources.mjs").Table} Table
 * @typedef {import("./doors/sources.mjs").Violation} Violation
 * @typedef {import("./doors/replaced-words.mjs").ReplacedWord} ReplacedWord
 * @typedef {{ table: Table, words: ReplacedWord[], tableText?: string }} Rules
 */

const FOLDERS = ["src", "test", "examples", "bench", "tools", "console-ui/src"];

/** @returns {Required<Rules>} */
export function readRules() {
  const tableText = readFileSync(path.join(root, TABLE_FILE), "utf8");
  const words = JSON.parse(readFileSync(path.join(root, "tools", "replaced-words.json"), "utf8"));
  return { table: JSON.parse(tableText), words, tableText };
}

/**
 * @param {string} project the folder that holds src/, test/ and the rest
 * @param {Rules} rules
 */
export function inspect(project, { table, words, tableText = "" }) {
  const texts = readTexts(project, FOLDERS);
  const sources = sourcesOf(
    texts.filter(({ file }) => file.startsWith("src/")),
    table,
  );
  const counted = texts.map(({ file }) => file).filter((file) => /^(?:src|test\/crash)\//.test(file));
  /** @param {keyof Table} section @param {string} key */
  const lineOf = (section, key) => {
    const start = tableText.indexOf(`"${section}":`);
    return lineAt(tableText, tableText.indexOf(`"${key}":`, start));
  };
  const strict = [
    ...sources.flatMap((source) => [
      ...checkNameAndSize(source, table),
      ...checkImports(source, table),
      ...checkPurity(source, table),
      ...checkStarExports(source),
    ]),
    ...checkCycles(sources),
    ...checkTable(sources, table, (room) => lineOf("rooms", room)),
  ];
  const found = {
    sqlPlacement: sources.flatMap(checkSqlPlacement),
    tables: checkTables(sources, table, (name) => lineOf("tables", name)),
    folders: checkFolders(counted, table),
    prefixes: sources.flatMap(checkPrefix),
    undocumented: checkDocumented(sources),
    replacedWords: checkReplacedWords(texts, words),
  };
  return { sources, strict, found, lineOf };
}

/**
 * @param {string} project
 * @param {Rules} rules
 * @returns {Violation[]}
 */
export function checkDoors(project, rules) {
  const { strict, found, lineOf } = inspect(project, rules);
  return [
    ...strict,
    ...withoutPending(found, rules.table.pending, (check) => lineOf("pending", check)),
  ].toSorted((a, b) => a.file.localeCompare(b.file) || a.line - b.line);
}

/**
 * The rooms and their imports as they are.
 * @param {string} project
 * @param {Table} table
 */
export function roomDiagram(project, table) {
  return mermaid(roomImports(sourcesOf(readTexts(project, ["src"]), table), table));
}

/**
 * The rooms that import one of these, in the order of the table.
 * @param {readonly string[]} rooms
 * @param {string} project
 * @param {Table} table
 */
export function importersOf(rooms, project = root, table = readRules().table) {
  const imports = roomImports(sourcesOf(readTexts(project, ["src"]), table), table);
  return [...imports]
    .filter(([name, others]) => !rooms.includes(name) && rooms.some((room) => others.has(room)))
    .map(([name]) => name);
}

async function main() {
  const rules = readRules();
  const { table } = rules;
  if (process.argv.includes("--mermaid")) console.log(roomDiagram(root, table));
  else if (process.argv.includes("--api"))
    console.log(printedApi(apiOf(sourcesOf(readTexts(root, ["src"]), table))));
  else if (process.argv.includes("--pending"))
    console.log(JSON.stringify(pendingOf(inspect(root, rules).found), null, 2));
  else if (process.argv.includes("--prune")) {
    const pending = pruned(inspect(root, rules).found, table.pending);
    writeFileSync(path.join(root, TABLE_FILE), withPending(rules.tableText, pending));
    await program("oxfmt", [TABLE_FILE]);
  } else {
    const violations = checkDoors(root, rules);
    for (const { file, line, message } of violations) console.log(`${file}:${line}  ${message}`);
    if (violations.length > 0) process.exitCode = 1;
  }
}

if (isMain(import.meta.url)) await main();
