/**
 * Holds docs/spec.md (the rules), docs/guarantees.md (the rules that are claimed) and the report of the last
 * whole test run against each other. A test shows a rule when its title begins with the rule's id in square
 * brackets; the describe blocks around it, called postgres, sqlite or memory, say on which database.
 *
 * The last column of a claim names the databases that it must be shown on: `postgres, sqlite` unless a person
 * wrote something narrower there (`postgres`, or `none` for a rule that no database takes part in).
 *
 *   npm run guarantees                 a table; fails when a claim is not shown
 *   npm run guarantees -- --json       every rule of the specification, for programs
 *   npm run guarantees -- --write      renews the table in docs/guarantees.md
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { isMain, root, toolMain } from "./project.mjs";

/**
 * @typedef {{ id: string, text: string }} Rule
 * @typedef {{ title: string, file: string, databases: string[] }} Shown
 * @typedef {{ id: string, text: string, shown: Shown[], databases: string[] }} Evidence
 * @typedef {{ testResults: { name: string, assertionResults: { title: string, ancestorTitles: string[], status: string }[] }[] }} Report
 */

const databases = ["postgres", "sqlite", "memory"];
const required = ["postgres", "sqlite"];
const begin = "<!-- guarantees: begin (written by npm run guarantees -- --write) -->";
const end = "<!-- guarantees: end -->";

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
  /** @type {Map<string, Shown[]>} */
  const byId = new Map(rules.map(({ id }) => [id, []]));
  for (const { name, assertionResults } of report.testResults) {
    const file = path.relative(base, name).split(path.sep).join("/");
    for (const { title, ancestorTitles, status } of assertionResults) {
      if (status !== "passed") continue;
      const [ids = ""] = /^(?:\[[A-Z]-\d{2}\]\s*)+/.exec(title) ?? [];
      const on = databases.filter((database) => ancestorTitles.includes(database));
      const shown = { title: title.slice(ids.length), file, databases: on };
      for (const id of new Set(ids.match(/[A-Z]-\d{2}/g))) byId.get(id)?.push(shown);
    }
  }
  return rules.map(({ id, text }) => {
    const shown = byId.get(id) ?? [];
    return {
      id,
      text,
      shown,
      databases: databases.filter((name) => shown.some((test) => test.databases.includes(name))),
    };
  });
}

/**
 * The claims of docs/guarantees.md: the rule's id, and the databases it must be shown on.
 * @param {string} page
 * @returns {Map<string, string[]>}
 */
export function readClaims(page) {
  const claims = new Map();
  for (const [row, id] of page.matchAll(/^\| ([A-Z]-\d{2}) \|.*\|[ \t]*$/gm)) {
    const column = row.split(/(?<!\\)\|/).at(-2) ?? "";
    const named = databases.filter((database) => new RegExp(`\\b${database}\\b`).test(column));
    claims.set(id, /\bnone\b/.test(column) ? [] : named.length > 0 ? named : required);
  }
  return claims;
}

/**
 * @param {Evidence[]} evidence
 * @param {Map<string, string[]>} claims
 * @returns {string[]} what is claimed and not shown
 */
export function verdicts(evidence, claims) {
  const byId = new Map(evidence.map((rule) => [rule.id, rule]));
  return [...claims].flatMap(([id, needed]) => {
    const rule = byId.get(id);
    if (rule === undefined) return [`${id} is claimed, but the specification has no such rule`];
    if (rule.shown.length === 0) return [`${id} is claimed, but no test that passed shows it`];
    return needed
      .filter((database) => !rule.databases.includes(database))
      .map((database) => `${id} is claimed, but no test that passed shows it on ${database}`);
  });
}

/**
 * The page with its table renewed. What a person decided in the last column stays; it only ever grows.
 * @param {string} page
 * @param {Evidence[]} evidence
 */
export function renew(page, evidence) {
  const from = page.indexOf(begin);
  const to = page.indexOf(end);
  if (from === -1 || to === -1) throw new Error("docs/guarantees.md lacks its two marker comments.");
  const claims = readClaims(page);
  const rows = evidence.filter((rule) => rule.shown.length > 0 || claims.has(rule.id)).map(row);
  const table = ["| Rule | What it says | Shown by | Databases |", "|---|---|---|---|", ...rows].join("\n");
  return `${page.slice(0, from)}${begin}\n${table}\n${page.slice(to)}`;

  /** @param {Evidence} rule */
  function row({ id, text, shown, databases: on }) {
    const claimed = claims.get(id) ?? (on.length === 0 ? [] : required);
    const needed = databases.filter((database) => claimed.includes(database) || on.includes(database));
    return `| ${id} | ${cell(brief(text))} | ${tests(shown)} | ${needed.join(", ") || "none"} |`;
  }
}

/** @param {Shown[]} shown */
function tests(shown) {
  /** @type {Map<string, Set<string>>} */
  const byFile = new Map();
  for (const { title, file } of shown) byFile.set(file, (byFile.get(file) ?? new Set()).add(title));
  return [...byFile]
    .map(
      ([file, titles]) => `[${path.posix.basename(file)}](../${file}): ${[...titles].map(cell).join("; ")}`,
    )
    .join("<br>");
}

/** @param {string} text */
function brief(text) {
  const sentence = /^.{20,}?[.:;](?=\s|$)/.exec(text)?.[0].slice(0, -1) ?? text;
  return sentence.length <= 140 ? sentence : `${sentence.slice(0, 137).replace(/\s+\S*$/, "")} …`;
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

if (isMain(import.meta.url)) {
  await toolMain(async () => {
    const args = process.argv.slice(2);
    const reportFile = path.join(root, ".amends", "test-report.json");
    const pageFile = path.join(root, "docs", "guarantees.md");
    if (!existsSync(reportFile))
      throw new Error("There is no report of a whole test run yet; run npm test first.");
    const rules = readRules(readFileSync(path.join(root, "docs", "spec.md"), "utf8"));
    const evidence = collect(rules, JSON.parse(readFileSync(reportFile, "utf8")));
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
    const missing = verdicts(evidence, readClaims(readFileSync(pageFile, "utf8")));
    if (missing.length > 0) throw new Error(missing.join("\n"));
  });
}
