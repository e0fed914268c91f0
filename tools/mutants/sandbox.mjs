/** A copy of the project in a temporary folder, in which a patch is applied and one test is run. */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { node, root } from "../project.mjs";
import { git } from "./records.mjs";

/**
 * @typedef {import("./records.mjs").MutantRecord} MutantRecord
 * @typedef {{ title: string, ancestorTitles: string[], status: string, failureMessages?: string[] }} TestResult
 * @typedef {{ testResults: { name: string, message?: string, assertionResults: TestResult[] }[] }} Report
 * @typedef {{ kind: "passed" | "failed" | "hung" | "missing" | "broken", reason: string }} Verdict
 */

const REPORT = ".amends/mutant-report.json";

export class Sandbox {
  /** @type {string} */
  #folder;

  /** @param {string} folder */
  constructor(folder) {
    this.#folder = folder;
  }

  /** The files that Git knows or would add, as they are now. */
  static async make() {
    const listed = await git(["ls-files", "-z", "--cached", "--others", "--exclude-standard"], root);
    if (!listed.ok) throw new Error(`git ls-files failed: ${listed.output}`);
    const folder = mkdtempSync(path.join(tmpdir(), "amends-mutant-"));
    for (const file of new Set(listed.output.split("\0"))) {
      if (file === "" || !existsSync(path.join(root, file))) continue;
      mkdirSync(path.join(folder, path.dirname(file)), { recursive: true });
      copyFileSync(path.join(root, file), path.join(folder, file));
    }
    symlinkSync(path.join(root, "node_modules"), path.join(folder, "node_modules"), "junction");
    return new Sandbox(folder);
  }

  remove() {
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }

  /**
   * Runs the record's test under its patch, and takes the patch back.
   * @param {MutantRecord} record
   * @returns {Promise<Verdict>}
   */
  async runPatched(record) {
    const applied = await git(["apply", record.file], this.#folder);
    if (!applied.ok) return { kind: "broken", reason: `the patch does not apply: ${applied.output.trim()}` };
    try {
      const [verdict] = await this.run([record]);
      return verdict ?? { kind: "missing", reason: "" };
    } finally {
      await this.#takeBack(record);
    }
  }

  /** @param {MutantRecord} record */
  async #takeBack({ file }) {
    const { ok, output } = await git(["apply", "-R", file], this.#folder);
    if (!ok) throw new Error(`${file} cannot be taken back: ${output}`);
  }

  /**
   * Runs the tests of these records in one run of Vitest, without any patch of its own.
   * @param {readonly MutantRecord[]} records
   * @returns {Promise<Verdict[]>} one per record
   */
  async run(records) {
    const report = path.join(this.#folder, REPORT);
    rmSync(report, { force: true });
    const files = [...new Set(records.map(({ test }) => test))];
    const titles = [
      ...new Set(records.map(({ title }) => title.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))),
    ];
    const projects = [...new Set(files.map(projectOf))];
    const outcome = await node(
      [
        "node_modules/vitest/vitest.mjs",
        "run",
        ...projects.map((name) => `--project=${name}`),
        ...files,
        "-t",
        titles.join("|"),
      ],
      { cwd: this.#folder, env: { AMENDS_TEST_REPORT: REPORT, AMENDS_DATABASES: databasesOf(records) } },
    );
    if (!existsSync(report))
      return records.map(() => ({ kind: "broken", reason: `Vitest wrote no report:\n${outcome.output}` }));
    const { testResults } = /** @type {Report} */ (JSON.parse(readFileSync(report, "utf8")));
    return records.map((record) => judge(record, testResults, this.#folder));
  }
}

/** @param {string} file */
function projectOf(file) {
  if (file.startsWith("test/types/")) return "types";
  return file.startsWith("test/core/") ? "core" : "world";
}

/** @param {readonly MutantRecord[]} records */
function databasesOf(records) {
  const named = new Set(records.map(({ database }) => database));
  return named.has(undefined) ? "postgres,sqlite" : [...named].join(",");
}

/**
 * @param {MutantRecord} record
 * @param {Report["testResults"]} results
 * @param {string} folder
 * @returns {Verdict}
 */
export function judge({ test, title, database }, results, folder) {
  const file = results.find(({ name }) => path.relative(folder, name).split(path.sep).join("/") === test);
  if (!file) return { kind: "missing", reason: `${test} did not run` };
  const found = file.assertionResults.filter(
    (one) =>
      one.title.startsWith(title) &&
      ["passed", "failed"].includes(one.status) &&
      (database === undefined || !one.ancestorTitles.includes(database === "sqlite" ? "postgres" : "sqlite")),
  );
  if (found.length === 0)
    return { kind: "missing", reason: firstLine(file.message) || "the test did not run" };
  const failed = found.filter(({ status }) => status === "failed");
  if (failed.length === 0) return { kind: "passed", reason: "" };
  const reasons = failed.map(({ failureMessages = [] }) => firstLine(failureMessages[0]));
  const asserted = reasons.find((reason) => !isNoAssertion(reason));
  return asserted === undefined
    ? { kind: "hung", reason: reasons[0] ?? "" }
    : { kind: "failed", reason: asserted };
}

/**
 * A test that ran out of time, or could not be compiled, has not looked at what was broken. Vitest reports the end of a
 * test's time with the error that only marks where the test stands.
 */
const isNoAssertion = (/** @type {string} */ reason) =>
  /^(Error: )?((Test|Hook) timed out in|STACK_TRACE_ERROR)|^(ReferenceError|SyntaxError)\b/.test(reason);

/** @param {string | undefined} text */
function firstLine(text = "") {
  return (
    text
      .split("\n")
      .find((line) => line.trim() !== "")
      ?.trim() ?? ""
  );
}
