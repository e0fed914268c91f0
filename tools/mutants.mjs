/**
 * Shows that the tests fail when the code is wrong. Each record of test/mutants/ breaks one rule of docs/spec.md with a
 * small patch and names the test that notices. A run copies the project into a temporary folder, runs the named tests
 * there, which must pass, and then each of them under its patch: it must fail by an assertion.
 *
 *   npm run mutants                     all records
 *   npm run mutants -- K-06 S-10        the records of these rules (or of one record: K-06-job-release)
 *   npm run mutants -- --check          fast: every patch applies, every named test exists, every rule has a record
 *   npm run mutants -- --json           the results for programs
 *   npm run mutants -- --jobs 2         that many patches at once. Default: 1.
 */
import { builtRules } from "./guarantees.mjs";
import { checkRecords, readRecords } from "./mutants/records.mjs";
import { Sandbox } from "./mutants/sandbox.mjs";
import { ensureInstalled, isMain, progress, toolMain } from "./project.mjs";

/**
 * @typedef {import("./mutants/records.mjs").MutantRecord} MutantRecord
 * @typedef {import("./mutants/sandbox.mjs").Verdict} Verdict
 * @typedef {{ record: MutantRecord, verdict: "killed" | "SURVIVED" | "NO VERDICT", reason: string, seconds: number }} Result
 */

/** @param {readonly string[]} named */
function chosen(named) {
  const records = readRecords();
  const found = records.filter(
    ({ rule, name }) => named.length === 0 || named.includes(rule) || named.includes(name),
  );
  const unknown = named.filter((one) => !found.some(({ rule, name }) => one === rule || one === name));
  if (unknown.length > 0) throw new Error(`No record in test/mutants is called ${unknown.join(", ")}.`);
  return found;
}

/**
 * @param {readonly MutantRecord[]} records
 * @param {number} jobs
 * @param {(result: Result) => void} onResult
 */
async function run(records, jobs, onResult) {
  const sandboxes = await Promise.all(
    Array.from({ length: Math.min(jobs, records.length) }, () => Sandbox.make()),
  );
  try {
    const [first] = sandboxes;
    if (!first) return [];
    const unpatched = await progress(`${records.length} tests without a patch`, () => first.run(records));
    const queue = records.map((record, at) => ({
      record,
      before: /** @type {Verdict} */ (unpatched[at]),
      at,
    }));
    /** @type {Result[]} */
    const results = [];
    await Promise.all(
      sandboxes.map(async (sandbox) => {
        for (let next = queue.shift(); next; next = queue.shift()) {
          const startedAt = performance.now();
          const { verdict, reason } = await tried(sandbox, next.record, next.before);
          const seconds = (performance.now() - startedAt) / 1000;
          onResult((results[next.at] = { record: next.record, verdict, reason, seconds }));
        }
      }),
    );
    return results;
  } finally {
    for (const sandbox of sandboxes) sandbox.remove();
  }
}

/**
 * @param {Sandbox} sandbox
 * @param {MutantRecord} record
 * @param {Verdict} before the test without the patch
 * @returns {Promise<Pick<Result, "verdict" | "reason">>}
 */
async function tried(sandbox, record, before) {
  if (before.kind !== "passed")
    return {
      verdict: "NO VERDICT",
      reason: `without the patch the test is ${before.kind}: ${before.reason}`,
    };
  const { kind, reason } = await sandbox.runPatched(record);
  if (kind === "failed") return { verdict: "killed", reason };
  if (kind === "passed") return { verdict: "SURVIVED", reason: `"${record.title}" passes under the patch` };
  return { verdict: "NO VERDICT", reason: `under the patch the test is ${kind}: ${reason}` };
}

/** @param {Result} result */
function line({ record, verdict, reason, seconds }) {
  return `${verdict.padEnd(10)}  ${record.name.padEnd(24)} ${seconds.toFixed(1).padStart(5)} s  ${reason.slice(0, 160)}`;
}

/** @param {readonly Result[]} results */
function table(results) {
  const rows = results.map(
    ({ record, verdict }) =>
      `${record.rule}  ${verdict.padEnd(10)}  ${record.breaks}\n      ${record.test}: ${record.title}`,
  );
  const killed = results.filter(({ verdict }) => verdict === "killed").length;
  return [...rows, `${killed} of ${results.length} mutants are killed by their tests.`].join("\n");
}

async function check() {
  const problems = await checkRecords(builtRules());
  if (problems.length > 0) throw new Error(problems.join("\n"));
}

if (isMain(import.meta.url)) {
  await toolMain(async () => {
    const args = process.argv.slice(2);
    if (args.includes("--check")) return check();
    const asJson = args.includes("--json");
    const jobsAt = args.indexOf("--jobs");
    const jobs = jobsAt === -1 ? 1 : Number(args[jobsAt + 1]);
    if (!Number.isInteger(jobs) || jobs < 1) throw new Error("--jobs takes a whole number from 1 on.");
    const named = args.filter((arg, at) => !arg.startsWith("--") && (jobsAt === -1 || at !== jobsAt + 1));
    await ensureInstalled();
    const results = await run(chosen(named), jobs, (result) => {
      if (!asJson) console.log(line(result));
    });
    if (asJson)
      console.log(
        JSON.stringify({ records: results.map(({ record, ...rest }) => ({ ...record, ...rest })) }, null, 2),
      );
    else console.log(`\n${table(results)}`);
    if (results.some(({ verdict }) => verdict !== "killed")) process.exitCode = 1;
  });
}
