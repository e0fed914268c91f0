import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, expect, it } from "vitest";
import { checkRecords, parseRecord } from "../../tools/mutants/records.mjs";
import { judge } from "../../tools/mutants/sandbox.mjs";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

const PATCH = `diff --git a/src/a.ts b/src/a.ts
--- a/src/a.ts
+++ b/src/a.ts
@@ -2,3 +2,3 @@
 one
-two
+three
 four
`;

const record = (fields: Readonly<Record<string, string>> = {}, patch: string = PATCH): string => {
  const all = {
    rule: "K-01",
    breaks: "It is wrong.",
    test: "test/a.test.ts",
    title: "[K-01] holds",
    ...fields,
  };
  const lines = Object.entries(all).map(([key, value]) => `${key}: ${value}`);
  return `${lines.join("\n")}\n\n${patch}`;
};

/** A project with one source, one test and these records. */
function project(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(path.join(tmpdir(), "mutants-"));
  folders.push(folder);
  const all = {
    "src/a.ts": "zero\none\ntwo\nfour\n",
    "test/a.test.ts": `it("[K-01] holds, always", () => {});`,
    ...files,
  };
  for (const [name, text] of Object.entries({ "test/mutants/README.md": "", ...all })) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
  return folder;
}

it("a rule with a record whose patch applies and whose test exists is in order", async () => {
  const folder = project({ "test/mutants/K-01.patch": record(), "test/mutants/K-01-second.patch": record() });
  expect(await checkRecords(["K-01"], folder)).toEqual([]);
});

it("a rule without a record is refused", async () => {
  const folder = project({ "test/mutants/K-01.patch": record() });
  expect(await checkRecords(["K-01", "K-02"], folder)).toEqual([
    "K-02 has no record in test/mutants: add a patch that breaks it, and the test that fails then.",
  ]);
});

it("a patch that no longer applies is refused, with the place", async () => {
  const folder = project({ "test/mutants/K-01.patch": record(), "src/a.ts": "one\n2\nfour\n" });
  expect(await checkRecords(["K-01"], folder)).toEqual([
    "test/mutants/K-01.patch no longer applies: error: patch failed: src/a.ts:2",
  ]);
});

it("a record needs a test that exists and has its rule's id", async () => {
  const folder = project({
    "test/mutants/K-01.patch": record({ title: "[K-01] is gone" }),
    "test/mutants/K-01-other.patch": record({ test: "test/b.test.ts" }),
    "test/mutants/K-02.patch": record({ rule: "K-02" }),
    "test/mutants/Z-99.patch": record({ rule: "Z-99", title: "[Z-99] holds" }),
  });
  expect(await checkRecords(["K-01", "K-02"], folder)).toEqual([
    "test/mutants/Z-99.patch: Z-99 is no rule of the specification that is built.",
    "test/mutants/K-01-other.patch: there is no test file test/b.test.ts.",
    'test/mutants/K-01.patch: test/a.test.ts has no test "[K-01] is gone".',
    "test/mutants/K-02.patch: the title of its test does not begin with [K-02].",
    'test/mutants/Z-99.patch: test/a.test.ts has no test "[Z-99] holds".',
  ]);
});

it("fields that are missing, unknown or wrong are refused", () => {
  expect(parseRecord("K-01", record({ database: "sqlite" }))).toMatchObject({
    rule: "K-01",
    title: "[K-01] holds",
    database: "sqlite",
  });
  expect(() => parseRecord("K-01", record({ databse: "sqlite" }))).toThrow(`"databse: sqlite" is not one of`);
  expect(() => parseRecord("K-01", record({ database: "oracle" }))).toThrow("Use sqlite or postgres.");
  expect(() => parseRecord("K-02", record())).toThrow("does not begin with its rule, K-01");
  expect(() => parseRecord("K-01", `rule: K-01\n\n${PATCH}`)).toThrow(`has no "breaks"`);
});

it("only a test that failed by an assertion has noticed", () => {
  const one = parseRecord("K-01", record({ database: "sqlite" }));
  const after = (status: string, ...failureMessages: string[]) =>
    judge(
      one,
      [
        {
          name: "/p/test/a.test.ts",
          assertionResults: [
            { title: "[K-01] holds, always", ancestorTitles: ["sqlite"], status, failureMessages },
          ],
        },
      ],
      "/p",
    ).kind;
  expect(after("failed", "AssertionError: expected 1 to be 2\n  at x")).toBe("failed");
  expect(after("failed", "Error: Test timed out in 90000ms.")).toBe("hung");
  expect(after("failed", "Error: STACK_TRACE_ERROR\n  at x")).toBe("hung");
  expect(after("failed", "ReferenceError: x is not defined")).toBe("hung");
  expect(after("passed")).toBe("passed");
  expect(after("skipped")).toBe("missing");
});

it("a test of another database, or in a file that could not be loaded, has not noticed", () => {
  const one = parseRecord("K-01", record({ database: "sqlite" }));
  const result = {
    title: "[K-01] holds",
    ancestorTitles: ["postgres"],
    status: "failed",
    failureMessages: ["AssertionError: no"],
  };
  expect(judge(one, [{ name: "/p/test/a.test.ts", assertionResults: [result] }], "/p").kind).toBe("missing");
  const unread = { name: "/p/test/a.test.ts", message: "\nSyntaxError: no", assertionResults: [] };
  expect(judge(one, [unread], "/p")).toEqual({ kind: "missing", reason: "SyntaxError: no" });
});
