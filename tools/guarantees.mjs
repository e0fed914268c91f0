/**
 * Holds docs/spec.md (the rules), docs/guarantees.md (the rules that are claimed) and the report of the last
 * whole test run against each other. A test shows a rule when its title begins with the rule's id in square
 * brackets; the describe blocks around it, called postgres, sqlite or memory, say on which database. A test that
 * passed only after it was tried again shows nothing.
 *
 * The last column of a claim names the databases that it must be shown on: `postgres, sqlite` unless a person
 * wrote something narrower there (`postgres`, or `none` for a rule that no database takes part in). `not built` marks a
 * rule that the code does not have yet: no test may name it. Every other rule needs a record in test/mutants whose patch
 * applies (tools/mutants.mjs).
 *
 *   npm run guarantees                 a table; fails when a rule is not claimed, or a claim is not shown
 *   npm run guarantees -- --json       every rule of the specification, for programs
 *   npm run guarantees -- --write      renews the table in docs/guarantees.md
 *
 * Each of them writes every rule with the titles of its tests into .amends/guarantees.json.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { checkRecords } from "./mutants/records.mjs";
import { isMain, root, toolMain } from "./project.mjs";

/**
 * @typedef {{ id: string, text: string }} Rule
 * @typedef {{ title: string, file: string, databases: string[] }} Shown
 * @typedef {{ id: string, text: string, shown: Shown[], retried: Shown[], databases: string[] }} Evidence
 * @typedef {{ title: string, ancestorTitles: string[], status: string, failureMessages?: string[] }} TestResult
 * @typedef {{ testResults: { name: string, assertionResults: TestResult[] }[] }} Report
 * @typedef {string[] | "not built"} Claim the databases that a rule must be shown on
 */

const databases = ["postgres", "sqlite", "memory"];
const required = ["postgres", "sqlite"];
/** @type {"not built"} */
const NOT_BUILT = "not built";
const begin = "<!-- guarantees: begin (written by npm run guarantees -- --write) -->";
const end = "<!-- guarantees: end -->";
/** So many test files are named in a row, those with the most tests first. */
const FILES_MAX = 2;

/**
 * @param {string} spec
 * @returns {Rule[]}
 */
export function readRules(spec) {
  return [...spec.matchAll(/^- ([A-Z]-\d{2}) (?:\([^)]*\) )?(.+)$/gm)].map(([, id = "", text = ""]) => ({
    id,
    text,
  }));
}

/**
 * @param {Rule[]} rules
 * @param {Report} report
 * @param {string} [base] what file names are relative to
 * @returns {Evidence[]}
 */
export function collect(rules, report, base = root) {
  /** @type {Map<string, { shown: Shown[], retried: Shown[] }>} */
  const byId = new Map(rules.map(({ id }) => [id, { shown: [], retried: [] }]));
  for (const { name, assertionResults } of report.testResults) {
    const file = path.relative(base, name).split(path.sep).join("/");
    for (const { title, ancestorTitles, status, failureMessages = [] } of assertionResults) {
      if (status !== "passed") continue;
      const [ids = ""] = /^(?:\[[A-Z]-\d{2}\]\s*)+/.exec(title) ?? [];
      const on = databases.filter((database) => ancestorTitles.includes(database));
      const shown = { title: title.slice(ids.length), file, databases: on };
      // Vitest reports a passed test with the failures of its earlier tries.
      const kind = failureMessages.length > 0 ? "retried" : "shown";
      for (const id of new Set(ids.match(/[A-Z]-\d{2}/g))) byId.get(id)?.[kind].push(shown);
    }
  }
  return rules.map(({ id, text }) => {
    const { shown, retried } = byId.get(id) ?? { shown: [], retried: [] };
    const on = databases.filter((name) => shown.some((test) => test.databases.includes(name)));
    return { id, text, shown, retried, databases: on };
  });
}

/**
 * The claims of docs/guarantees.md: the rule's id, and the databases it must be shown on.
 * @param {string} page
 * @returns {Map<string, Claim>}
 */
export function readClaims(page) {
  const claims = new Map();
  for (const [row, id] of page.matchAll(/^\| ([A-Z]-\d{2}) \|.*\|[ \t]*$/gm)) {
    const column = row.split(/(?<!\\)\|/).at(-2) ?? "";
    const named = databases.filter((database) => new RegExp(`\\b${database}\\b`).test(column));
    if (column.trim() === NOT_BUILT) claims.set(id, NOT_BUILT);
    else claims.set(id, /\bnone\b/.test(column) ? [] : named.length > 0 ? named : required);
  }
  return claims;
}

/**
 * @param {Evidence[]} evidence
 * @param {Map<string, Claim>} claims
 * @returns {string[]} what is claimed and not shown, and what is a rule and not claimed
 */
export function verdicts(evidence, claims) {
  const byId = new Map(evidence.map((rule) => [rule.id, rule]));
  const unclaimed = evidence.filter(({ id }) => !claims.has(id));
  return [
    ...unclaimed.map(
      ({ id }) =>
        `${id} is a rule of the specification, but docs/guarantees.md has no row for it. Run npm run guarantees -- --write.`,
    ),
    ...[...claims].flatMap(([id, needed]) => {
      const rule = byId.get(id);
      if (rule === undefined) return [`${id} is claimed, but the specification has no such rule`];
      if (needed === NOT_BUILT)
        return rule.shown.map(({ file, title }) => `${id} is not built, but ${file} names it: ${title}`);
      if (rule.shown.length === 0)
        return [`${id} is claimed, but no test that passed shows it${retries(rule)}`];
      return needed
        .filter((database) => !rule.databases.includes(database))
        .map(
          (database) =>
            `${id} is claimed, but no test that passed shows it on ${database}${retries(rule, database)}`,
        );
    }),
  ];
}

/**
 * @param {Evidence} rule
 * @param {string} [database]
 */
function retries({ retried }, database) {
  const tests = retried.filter((test) => database === undefined || test.databases.includes(database));
  return tests.map(({ file, title }) => `\n  passed only when tried again: ${file}: ${title}`).join("");
}

/**
 * The page with its table renewed. What stands in the last column stays: a person may have decided it.
 * @param {string} page
 * @param {Evidence[]} evidence
 */
export function renew(page, evidence) {
  const from = page.indexOf(begin);
  const to = page.indexOf(end);
  if (from === -1 || to === -1) throw new Error("docs/guarantees.md lacks its two marker comments.");
  const rows = rowsOf(page, evidence).map(([, row]) => row);
  const table = [
    "| Rule | What it says | Test files | Tests | Databases |",
    "|---|---|---|--:|---|",
    ...rows,
  ];
  return `${page.slice(0, from)}${begin}\n${table.join("\n")}\n${page.slice(to)}`;
}

/**
 * The rules whose row on the page is not what the last whole run would write.
 * @param {string} page
 * @param {Evidence[]} evidence
 * @returns {string[]}
 */
export function staleRows(page, evidence) {
  const lines = new Set(page.split("\n"));
  return rowsOf(page, evidence).flatMap(([id, row]) => (lines.has(row) ? [] : [id]));
}

/**
 * @param {string} page
 * @param {Evidence[]} evidence
 * @returns {[id: string, row: string][]}
 */
function rowsOf(page, evidence) {
  const claims = readClaims(page);
  return evidence.map(({ id, text, shown, databases: on }) => {
    const proposed = on.length === 0 ? [] : [...required, ...on];
    const needed = claims.get(id) ?? databases.filter((database) => proposed.includes(database));
    const last = needed === NOT_BUILT ? NOT_BUILT : needed.join(", ") || "none";
    const cells = [id, cell(brief(text)), files(shown), shown.length, last];
    return [id, `| ${cells.join(" | ")} |`];
  });
}

/**
 * The rules that need a record in test/mutants: all that are built.
 * @param {string} [base]
 */
export function builtRules(base = root) {
  const claims = readClaims(readFileSync(path.join(base, "docs", "guarantees.md"), "utf8"));
  const rules = readRules(readFileSync(path.join(base, "docs", "spec.md"), "utf8"));
  return rules.map(({ id }) => id).filter((id) => claims.get(id) !== NOT_BUILT);
}

/** @param {Shown[]} shown */
function files(shown) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { file } of shown) counts.set(file, (counts.get(file) ?? 0) + 1);
  const ordered = [...counts].toSorted(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)).map(([file]) => file);
  const links = ordered
    .slice(0, FILES_MAX)
    .map((file) => `[${path.posix.basename(file).replace(/\.test(-d)?\.ts$/, "")}](../${file})`);
  const more = ordered.length - links.length;
  return [...links, ...(more > 0 ? [`${more} more`] : [])].join(", ");
}

/** @param {string} text */
function brief(text) {
  const sentence = /^.{20,}?[.:;](?=\s|$)/.exec(text)?.[0].slice(0, -1) ?? text;
  return sentence.length <= 100 ? sentence : `${sentence.slice(0, 97).replace(/\s+\S*$/, "")} …`;
}

/** @param {string} text */
function cell(text) {
  return text.replaceAll("|", "\\|").replaceAll("<", "&lt;").replaceAll("\n", " ");
}

/** @param {Evidence[]} evidence */
function overview(evidence) {
  const rows = evidence.map(({ id, shown, databases: on }) => {
    return `${id}  ${String(shown.length).padStart(4)}  ${on.join(", ") || "-"}`;
  });
  const covered = evidence.filter(({ shown }) => shown.length > 0).length;
  return [
    "rule  tests databases",
    ...rows,
    `${covered} of ${evidence.length} rules are shown by a test.`,
  ].join("\n");
}

/**
 * Every rule with its tests: a test that runs on several databases is named once.
 * @param {Evidence[]} evidence
 */
export function detailed(evidence) {
  const rules = evidence.map(({ id, text, shown, databases: on }) => {
    /** @type {Map<string, Shown>} */
    const tests = new Map();
    for (const { title, file, databases: one } of shown) {
      const known = tests.get(`${file} ${title}`);
      tests.set(`${file} ${title}`, { title, file, databases: [...(known?.databases ?? []), ...one] });
    }
    return { id, text, databases: on, tests: [...tests.values()] };
  });
  return { rules };
}

if (isMain(import.meta.url)) {
  await toolMain(async () => {
    const args = process.argv.slice(2);
    const reportFile = path.join(root, ".amends", "test-report.json");
    const pageFile = path.join(root, "docs", "guarantees.md");
    if (!existsSync(reportFile))
      throw new Error("There is no report of a whole test run yet; run npm test first.");
    const rules = readRules(readFileSync(path.join(root, "docs", "spec.md"), "utf8"));
    const evidence = collect(rules, JSON.parse(readFileSync(reportFile, "utf8")));
    mkdirSync(path.join(root, ".amends"), { recursive: true });
    const details = `${JSON.stringify(detailed(evidence), null, 2)}\n`;
    writeFileSync(path.join(root, ".amends", "guarantees.json"), details);
    if (args.includes("--json")) {
      const list = evidence.map(({ id, shown, databases: on }) => ({
        id,
        tests: shown.length,
        databases: on,
      }));
      console.log(JSON.stringify({ rules: list }, null, 2));
      return;
    }
    if (args.includes("--write")) writeFileSync(pageFile, renew(readFileSync(pageFile, "utf8"), evidence));
    if (!args.includes("--quiet")) console.log(overview(evidence));
    const page = readFileSync(pageFile, "utf8");
    const missing = [...verdicts(evidence, readClaims(page)), ...(await checkRecords(builtRules()))];
    if (missing.length > 0) throw new Error(missing.join("\n"));
    const stale = staleRows(page, evidence);
    if (stale.length > 0)
      console.log(
        `docs/guarantees.md: ${stale.length} rows are not those of the last whole run (${stale.join(", ")}). ` +
          "npm run guarantees -- --write renews them.",
      );
  });
}
