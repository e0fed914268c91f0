import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import {
  collect,
  detailed,
  readClaims,
  readRules,
  renew,
  staleRows,
  verdicts,
} from "../../tools/guarantees.mjs";
import { root } from "../../tools/project.mjs";

const rules = [
  { id: "K-01", text: "The delay is deterministic and capped. More of it." },
  { id: "K-02", text: "Two claims never meet." },
  { id: "K-03", text: "Nobody has shown this yet." },
];

/** As Vitest reports them: a test that was tried again has the failures of its earlier tries. */
function report(...tests: [title: string, ancestors: string[], status?: string, failures?: string[]][]) {
  const assertionResults = tests.map(([title, ancestorTitles, status = "passed", failureMessages = []]) => ({
    title,
    ancestorTitles,
    status,
    failureMessages,
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

it("each rule of the specification is read, and has its own id", () => {
  const text = readFileSync(path.join(root, "docs", "spec.md"), "utf8");
  const all = readRules(text);
  expect(all).toHaveLength(text.match(/^- [A-Z]-\d\d /gm)?.length ?? 0);
  expect(all.length).toBeGreaterThan(160);
  expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
});

it("only a passed test whose title begins with the id counts", () => {
  expect(evidence.map(({ id, shown, databases }) => [id, shown.length, databases])).toEqual([
    ["K-01", 2, ["postgres"]],
    ["K-02", 2, ["postgres", "memory"]],
    ["K-03", 0, []],
  ]);
});

const ALL = ["K-01", "K-02", "K-03"].map((id) => `| ${id} | text | files | 1 | none |`).join("\n");
const judge = (rows: string, given = evidence) => verdicts(given, readClaims(rows));

it("a claim needs a test on each database that its row names, both if it names none", () => {
  const only = (id: string) => evidence.filter((rule) => rule.id === id);
  expect(judge("| K-01 | text | files | 2 | none |", only("K-01"))).toEqual([]);
  expect(judge("| K-02 | a \\| b | files | 2 | postgres |", only("K-02"))).toEqual([]);
  expect(judge("| K-02 | text | files | 2 | |", only("K-02"))).toEqual([
    "K-02 is claimed, but no test that passed shows it on sqlite",
  ]);
  expect(judge("| K-03 | text | files | 0 | none |", only("K-03"))).toEqual([
    "K-03 is claimed, but no test that passed shows it",
  ]);
  expect(judge("| Z-99 | text | files | 0 | none |", [])).toEqual([
    "Z-99 is claimed, but the specification has no such rule",
  ]);
});

it("a rule that is not built needs no test, and no test may name it", () => {
  const rows = (id: string) => `| ${id} | text | files | 0 | not built |`;
  const only = (id: string) => evidence.filter((rule) => rule.id === id);
  expect(judge(rows("K-03"), only("K-03"))).toEqual([]);
  expect(judge(rows("K-01"), only("K-01"))).toEqual([
    "K-01 is not built, but test/a.test.ts names it: is pure",
    "K-01 is not built, but test/a.test.ts names it: are both | shown",
  ]);
  expect(renew(page(rows("K-03")), evidence)).toContain(
    "| K-03 | Nobody has shown this yet |  | 0 | not built |",
  );
});

it("a rule of the specification that has no row is missing", () => {
  expect(judge(ALL.replace("K-02", "K-01"))).toContain(
    "K-02 is a rule of the specification, but docs/guarantees.md has no row for it. Run npm run guarantees -- --write.",
  );
});

it("a test that passed only when it was tried again shows no rule, and is named", () => {
  const [rule] = rules;
  const judged = (...tests: Parameters<typeof report>) =>
    judge(
      "| K-01 | text | files | 1 | postgres |",
      collect(rule ? [rule] : [], report(...tests), "/project"),
    );
  const again: Parameters<typeof report>[0] = ["[K-01] is lucky", ["postgres"], "passed", ["Error: no"]];
  expect(judged(again)).toEqual([
    "K-01 is claimed, but no test that passed shows it\n  passed only when tried again: test/a.test.ts: is lucky",
  ]);
  expect(judged(again, ["[K-01] is right", ["sqlite"]])).toEqual([
    "K-01 is claimed, but no test that passed shows it on postgres\n  passed only when tried again: test/a.test.ts: is lucky",
  ]);
  expect(judged(again, ["[K-01] is right", ["postgres"]])).toEqual([]);
});

it("renewing the table keeps the databases that a row names, and gives every rule a row", () => {
  const renewed = renew(page("| K-01 | x | y | 1 | postgres |\n| K-03 | x | y | 0 | none |"), evidence);
  expect(renewed).toContain(
    "| K-01 | The delay is deterministic and capped | [a](../test/a.test.ts) | 2 | postgres |",
  );
  expect(renewed).toContain(
    "| K-02 | Two claims never meet | [a](../test/a.test.ts) | 2 | postgres, sqlite, memory |",
  );
  expect(renewed).toContain("| K-03 | Nobody has shown this yet |  | 0 | none |");
  expect(renewed.endsWith("<!-- guarantees: end -->\nafter\n")).toBe(true);
  expect(renew(renewed, evidence)).toBe(renewed);
});

it("a row names the files with the most tests first, and how many more there are", () => {
  const files = { a: 1, b: 3, c: 2, d: 1 };
  const testResults = Object.entries(files).map(([name, count]) => {
    const { testResults: made } = report(
      ...Array.from({ length: count }, (_, n): [string, string[]] => [`[K-01] ${n}`, []]),
    );
    return { ...made[0]!, name: `/project/test/${name}.test.ts` };
  });
  const shown = collect(rules, { testResults }, "/project");
  expect(renew(page(""), shown)).toContain(
    "| [b](../test/b.test.ts), [c](../test/c.test.ts), 2 more | 7 | none |",
  );
});

it("rows that the last run would write otherwise are told", () => {
  const renewed = renew(page(""), evidence);
  expect(staleRows(renewed, evidence)).toEqual([]);
  expect(
    staleRows(
      renewed.replace("| 2 | postgres, sqlite, memory |", "| 5 | postgres, sqlite, memory |"),
      evidence,
    ),
  ).toEqual(["K-02"]);
});

it("the details name each test once, with all of its databases", () => {
  const both = collect(rules, report(["[K-01] x", ["sqlite"]], ["[K-01] x", ["postgres"]]), "/project");
  expect(detailed(both).rules[0]).toEqual({
    id: "K-01",
    text: "The delay is deterministic and capped. More of it.",
    databases: ["postgres", "sqlite"],
    tests: [{ title: "x", file: "test/a.test.ts", databases: ["sqlite", "postgres"] }],
  });
});
