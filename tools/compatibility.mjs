/**
 * Checks docs/compatibility.md: each row says works, refused or not supported, and names a test that exists or a reason; each
 * adapter, client, runtime and server that the project tests has a row.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { root } from "./project.mjs";

/**
 * @typedef {object} Row
 * @property {string} section the heading above the table
 * @property {string} subject its first cell
 * @property {Readonly<Record<string, string>>} cells by column
 *
 * @typedef {object} Facts
 * @property {(file: string) => boolean} exists from the project's root
 * @property {readonly string[]} scripts of package.json
 * @property {readonly string[]} adapters the entries that join a client's transactions
 * @property {readonly string[]} clients the files of the suites' clients
 * @property {readonly string[]} subjects texts that must occur in the first cell of a row
 */

const STATUS = /^(?:works|refused|not supported)\b/;
const CONCLUDED = /^concluded(?:: | from )\S/;

/**
 * The rows of every table that has a column "Shown by".
 * @param {string} text
 * @returns {readonly Row[]}
 */
export function rowsOf(text) {
  /** @type {Row[]} */
  const rows = [];
  let section = "";
  /** @type {string[] | undefined} */
  let columns;
  for (const line of text.split("\n")) {
    if (line.startsWith("## ")) section = line.slice(3);
    if (!line.startsWith("|")) columns = undefined;
    else if (!columns) columns = cellsOf(line);
    else if (columns.includes("Shown by") && !line.startsWith("|-")) {
      const cells = cellsOf(line);
      const byColumn = Object.fromEntries(columns.map((column, at) => [column, cells[at] ?? ""]));
      rows.push({ section, subject: cells[0] ?? "", cells: byColumn });
    }
  }
  return rows;
}

/** @param {string} line */
function cellsOf(line) {
  return line
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());
}

/**
 * What is wrong with the page, one text for each finding.
 * @param {string} text
 * @param {Facts} facts
 * @returns {readonly string[]}
 */
export function findingsIn(text, facts) {
  const rows = rowsOf(text);
  const has = (/** @type {string} */ what, /** @type {(row: Row) => boolean} */ isIt) =>
    rows.some(isIt) ? [] : [`no row for ${what}`];
  return [
    ...rows.flatMap((row) => wrongIn(row, facts).map((what) => `${row.section}, ${row.subject}: ${what}`)),
    ...facts.adapters.flatMap((entry) => has(entry, ({ cells }) => named(cells["Entry"], entry))),
    ...facts.clients.flatMap((file) => has(file, ({ cells }) => named(cells["Shown by"], file))),
    ...facts.subjects.flatMap((subject) => has(subject, (row) => mentions(row.subject, subject))),
  ];
}

/**
 * @param {string | undefined} cell
 * @param {string} name
 */
function named(cell, name) {
  return cell?.includes(`\`${name}\``) === true;
}

/**
 * "Node.js 24" is mentioned by "Node.js 22, 24", and "nest" by "NestJS".
 * @param {string} subject
 * @param {string} wanted
 */
function mentions(subject, wanted) {
  return wanted
    .split(" ")
    .every((word) => new RegExp(String.raw`(?<![\w.])${word}(?!\d)`, "i").test(subject));
}

/**
 * @param {Row} row
 * @param {Facts} facts
 */
function wrongIn({ cells }, { exists, scripts }) {
  const { Status: status = "", "Shown by": shown = "" } = cells;
  const files = [...shown.matchAll(/`(test\/[^`]+)`/g)].map(([, file = ""]) => file);
  const commands = [...shown.matchAll(/`npm (?:run )?([\w-]+)`/g)].map(([, script = ""]) => script);
  const wrong = [
    ...files.filter((file) => !exists(file)).map((file) => `${file} does not exist`),
    ...commands.filter((one) => !scripts.includes(one)).map((one) => `there is no script ${one}`),
  ];
  if (!STATUS.test(status)) wrong.push("its status is not works, refused or not supported");
  if (shown === "") wrong.push("it names no test and no reason");
  else if (status.startsWith("works") && files.length + commands.length === 0 && !CONCLUDED.test(shown))
    wrong.push("it works, and names no test and nothing that this was concluded from");
  return wrong;
}

/** What the user of a pooler, a host or a server asks about. */
const ASKED = [
  "PgBouncer",
  "Neon",
  "Supabase",
  "RDS Proxy",
  "PGlite",
  "CockroachDB",
  "YugabyteDB",
  "MySQL",
  "Cloudflare",
];

/** @returns {Facts} */
export function projectFacts() {
  const read = (/** @type {string} */ file) => readFileSync(path.join(root, file), "utf8");
  const { exports, scripts } = JSON.parse(read("package.json"));
  const sourceOf = (/** @type {string} */ door) =>
    path.posix.join("src", `${door.replaceAll(/(?<=\w)\//g, "-")}.ts`);
  const adapters = Object.keys(exports).filter((door) => {
    const file = sourceOf(door);
    return existsSync(path.join(root, file)) && /^export type \{[^}]*\b(?:Sqlite)?Joins\b/m.test(read(file));
  });
  const matrix = read("tools/matrix.mjs");
  const majors = (/** @type {string} */ name) =>
    [...(new RegExp(`const ${name} = ([^;]*);`).exec(matrix)?.[1] ?? "").matchAll(/"(\d+)\./g)].map(
      ([, major]) => major,
    );
  const runtimes = [...matrix.matchAll(/^ {4}name: "(\w+)"/gm)].map(([, name = ""]) => name);
  const isClient = (/** @type {string} */ name) => name.endsWith(".ts") && name !== "suite.ts";
  return {
    exists: (file) => existsSync(path.join(root, file)),
    scripts: Object.keys(scripts),
    adapters: adapters.map((door) => path.posix.join("amends", door)),
    clients: ["test/clients/clients", "test/clients/bun"].flatMap((folder) =>
      readdirSync(path.join(root, folder))
        .filter(isClient)
        .map((name) => `${folder}/${name}`),
    ),
    subjects: [
      ...ASKED,
      ...majors("NODE").map((major) => `Node.js ${major}`),
      ...[...majors("POSTGRES"), ...majors("NEWEST"), ...majors("TOO_OLD")].map(
        (major) => `PostgreSQL ${major}`,
      ),
      ...runtimes.map((name) => name.charAt(0).toUpperCase() + name.slice(1)),
      ...readdirSync(path.join(root, "examples/frameworks"), { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => name),
    ],
  };
}
