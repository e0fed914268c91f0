/**
 * The records in test/mutants/: for each rule of docs/spec.md at least one small patch that breaks just that rule, and
 * the test that fails then. A record is one file, `<rule>.patch` or `<rule>-<name>.patch`: fields, an empty line, and a
 * unified diff, so that `git apply` takes the file as it is.
 *
 *   rule: K-06
 *   breaks: A renewal extends the lease of another claim.
 *   test: test/storage/fence.test.ts
 *   title: [K-06] a renewal under an old token is told that the claim was lost
 *   database: sqlite
 */
import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import path from "node:path";
import { root } from "../project.mjs";

/**
 * @typedef {object} MutantRecord
 * @property {string} name the file's name without its ending
 * @property {string} file the patch, from the project's root
 * @property {string} rule
 * @property {string} breaks what is wrong under the patch, in one sentence
 * @property {string} test the test file, from the project's root
 * @property {string} title the beginning of the test's title, with the rule's id
 * @property {"sqlite" | "postgres" | undefined} database none: the test needs no database, or runs on both
 */

export const FOLDER = "test/mutants";
const FIELDS = ["rule", "breaks", "test", "title", "database"];

/**
 * @param {string} name
 * @param {string} text
 * @returns {MutantRecord}
 */
export function parseRecord(name, text) {
  const file = `${FOLDER}/${name}.patch`;
  const head = text.slice(0, text.indexOf("\ndiff --git "));
  /** @type {Map<string, string>} */
  const fields = new Map();
  for (const line of head.split("\n")) {
    if (line === "") continue;
    const [, key = "", value = ""] = /^(\w+): (.+)$/.exec(line) ?? [];
    if (!FIELDS.includes(key)) throw new Error(`${file}: "${line}" is not one of: ${FIELDS.join(", ")}.`);
    fields.set(key, value);
  }
  const field = (/** @type {string} */ key) => {
    const value = fields.get(key);
    if (value === undefined) throw new Error(`${file} has no "${key}".`);
    return value;
  };
  const database = fields.get("database");
  if (database !== undefined && database !== "sqlite" && database !== "postgres")
    throw new Error(`${file}: the database is "${database}". Use sqlite or postgres.`);
  const rule = field("rule");
  if (name !== rule && !name.startsWith(`${rule}-`))
    throw new Error(`${file}: the name of the file does not begin with its rule, ${rule}.`);
  return { name, file, rule, breaks: field("breaks"), test: field("test"), title: field("title"), database };
}

/**
 * @param {string} [folder] the project
 * @returns {MutantRecord[]}
 */
export function readRecords(folder = root) {
  const names = readdirSync(path.join(folder, FOLDER)).filter((name) => name.endsWith(".patch"));
  return names.toSorted().map((name) => {
    const text = readFileSync(path.join(folder, FOLDER, name), "utf8");
    return parseRecord(name.slice(0, -".patch".length), text);
  });
}

/**
 * What is wrong with the records: a rule without one, a patch that no longer applies, a test that is not there.
 * @param {readonly string[]} rules the rules that need a record
 * @param {string} [folder]
 * @returns {Promise<string[]>}
 */
export async function checkRecords(rules, folder = root) {
  const records = readRecords(folder);
  const recorded = new Set(records.map(({ rule }) => rule));
  const known = new Set(rules);
  return [
    ...rules
      .filter((id) => !recorded.has(id))
      .map(
        (id) => `${id} has no record in ${FOLDER}: add a patch that breaks it, and the test that fails then.`,
      ),
    ...records
      .filter(({ rule }) => !known.has(rule))
      .map(({ file, rule }) => `${file}: ${rule} is no rule of the specification that is built.`),
    ...records.flatMap((record) => checkTest(record, folder)),
    ...(await inParallel(records, (record) => checkPatch(record, folder))).flat(),
  ];
}

/**
 * @param {MutantRecord} record
 * @param {string} folder
 * @returns {string[]}
 */
function checkTest({ file, rule, test, title }, folder) {
  const at = path.join(folder, test);
  if (!existsSync(at)) return [`${file}: there is no test file ${test}.`];
  const [ids = ""] = /^(?:\[[A-Z]-\d{2}\]\s*)+/.exec(title) ?? [];
  if (!ids.includes(`[${rule}]`)) return [`${file}: the title of its test does not begin with [${rule}].`];
  // The source may have the title in quotes of any kind, with those quotes escaped.
  const source = readFileSync(at, "utf8").replaceAll(/\\(["'`])/g, "$1");
  return source.includes(title) ? [] : [`${file}: ${test} has no test "${title}".`];
}

/**
 * @param {MutantRecord} record
 * @param {string} folder
 * @returns {Promise<string[]>}
 */
async function checkPatch({ file }, folder) {
  const { ok, output } = await git(["apply", "--check", file], folder);
  return ok ? [] : [`${file} no longer applies: ${output.trim().split("\n")[0]}`];
}

/**
 * @param {string[]} args
 * @param {string} cwd
 * @returns {Promise<{ ok: boolean, output: string }>}
 */
export function git(args, cwd) {
  return new Promise((resolve) => {
    execFile("git", args, { cwd, maxBuffer: 64 << 20 }, (error, stdout, stderr) =>
      resolve({ ok: error === null, output: stdout + stderr }),
    );
  });
}

/**
 * @template T, R
 * @param {readonly T[]} items
 * @param {(item: T) => Promise<R>} work
 * @returns {Promise<R[]>}
 */
async function inParallel(items, work) {
  /** @type {R[]} */
  const results = [];
  let next = 0;
  const workers = Array.from({ length: availableParallelism() * 2 }, async () => {
    for (let at = next++; at < items.length; at = next++)
      results[at] = await work(/** @type {T} */ (items[at]));
  });
  await Promise.all(workers);
  return results;
}
