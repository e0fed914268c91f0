import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { collect, readClaims, readRules, renew, verdicts } from "../../tools/guarantees.mjs";
import { root } from "../../tools/project.mjs";

const rules = [
  { id: "K-01", text: "The delay is deterministic and capped. More of it." },
  { id: "K-02", text: "Two claims never meet." },
  { id: "K-03", text: "Nobody has shown this yet." },
];

function report(...tests: [title: string, ancestors: string[], status?: string][]) {
  const assertionResults = tests.map(([title, ancestorTitles, status = "passed"]) => ({
    title,
    ancestorTitles,
    status,
  }));
  return { testResults: [{ name: "/project/test/a.test.ts", assertionResults }] };
}

const evidence = collect(
  rules,
  report(
    ["[K-01] is pure", []],
    ["[K-01][K-02] are both | shown", ["claims", "postgres"]],
    ["[K-02] again", ["memory"]],
    ["[K-02] fails", ["sqlite"], "failed"],
    ["mentions [K-03] only", ["sqlite"]],
  ),
  "/project",
);

const page = (rows: string) => `# Guarantees
<!-- guarantees: begin (written by npm run guarantees -- --write) -->
${rows}
<!-- guarantees: end -->
after
`;

it("the specification has 136 rules, each with its own id", () => {
  const all = readRules(readFileSync(path.join(root, "docs", "spec.md"), "utf8"));
  expect(new Set(all.map(({ id }) => id)).size).toBe(136);
  expect(all).toHaveLength(136);
});

it("only a passed test whose title begins with the id counts", () => {
  expect(evidence.map(({ id, shown, databases }) => [id, shown.length, databases])).toEqual([
    ["K-01", 2, ["postgres"]],
    ["K-02", 2, ["postgres", "memory"]],
    ["K-03", 0, []],
  ]);
});

it("a claim needs a test on each database that its row names, both if it names none", () => {
  const judge = (rows: string) => verdicts(evidence, readClaims(rows));
  expect(judge("| K-01 | text | tests | none |")).toEqual([]);
  expect(judge("| K-02 | a \\| b | tests | postgres |")).toEqual([]);
  expect(judge("| K-02 | text | tests | |")).toEqual([
    "K-02 is claimed, but no test that passed shows it on sqlite",
  ]);
  expect(judge("| K-03 | text | tests | none |")).toEqual([
    "K-03 is claimed, but no test that passed shows it",
  ]);
  expect(judge("| Z-99 | text | tests | none |")).toEqual([
    "Z-99 is claimed, but the specification has no such rule",
  ]);
});

it("renewing the table keeps what a person narrowed and never drops a claim", () => {
  const renewed = renew(page("| K-01 | x | y | postgres |\n| K-03 | x | y | none |"), evidence);
  expect(renewed).toContain(
    "| K-01 | The delay is deterministic and capped | [a.test.ts](../test/a.test.ts): is pure; are both \\| shown | postgres |",
  );
  expect(renewed).toContain("| postgres, sqlite, memory |");
  expect(renewed).toContain("| K-03 | Nobody has shown this yet |  | none |");
  expect(renewed.endsWith("<!-- guarantees: end -->\nafter\n")).toBe(true);
  expect(renew(renewed, evidence)).toBe(renewed);
});
