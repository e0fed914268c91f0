import { describe, expect, it } from "vitest";
import { findings, readRows } from "../../tools/sources.mjs";

const SPEC = `# Spec
## 9. Where the sources contradict
1. One thing → another.

| Id | Source |
|---|---|
| 001-b | one more |

## 10. More
2. Not of section 9.
`;

const FILES: Readonly<Record<string, string>> = {
  "src/a.ts": "export function claim() {}",
  "test/a.test.ts": 'it(\n  "[K-01] a claim\n    is one statement", () => say("[K-01] a claim is two"))',
  "test/b.ts": 'it.each([1])("[K-02] %s", run); const scenario = { title: `[K-03] dies` };',
};

const read = (file: string): string | undefined => FILES[file];

const COUNTS = "| 001 | 1 | 1 | 0 | 0 |\n| all | 1 | 1 | 0 | 0 |";
const ROW = "| 1 | A claim. | `src/a.ts`: `claim` | `test/a.test.ts`: [K-01] a claim is one | same |";

const page = (rows: string, counts = COUNTS): string => `# Sources\n${counts}\n\n## 001: Outbox\n${rows}\n`;
const found = (rows: string, counts?: string): readonly string[] => findings(page(rows, counts), SPEC, read);

describe("the page of sources", () => {
  it("is read row by row, under the heading of its document", () => {
    expect(readRows(page(ROW))).toMatchObject([{ document: "001", number: 1, verdict: "same" }]);
    expect(found(ROW)).toEqual([]);
  });

  it("names files that exist, and names that are in them", () => {
    expect(found(ROW.replace("src/a.ts", "src/b.ts"))).toEqual(["001 row 1: src/b.ts does not exist"]);
    expect(found(ROW.replace("`claim`", "`claim`, `lost`"))).toEqual(["001 row 1: src/a.ts has no lost"]);
    expect(found(ROW.replace("`src/a.ts`: `claim`", "nowhere"))).toEqual([
      "001 row 1: nowhere names no file",
    ]);
  });

  it("names tests that exist, each by its title", () => {
    expect(found(ROW.replace("one |", "one<br>`test/b.ts`: [K-02] %s<br>`test/b.ts`: dies |"))).toEqual([]);
    expect(found(ROW.replace("one |", "two |"))).toEqual([
      '001 row 1: test/a.test.ts has no test "[K-01] a claim is two"',
    ]);
    expect(found(ROW.replace("test/a", "test/b"))).toEqual(["001 row 1: test/b.test.ts does not exist"]);
    expect(found(ROW.replace(/`test.*one/, "none"))).toEqual(["001 row 1: none names no test"]);
    expect(found(ROW.replace("one |", "one<br>`test/c.test.ts`: [K-01] x |"))).toEqual([
      "001 row 1: test/c.test.ts does not exist",
    ]);
  });

  it("gives a verdict, and for a difference the item of section 9 that has the reason", () => {
    const counts = "| 001 | 1 | 0 | 0 | 1 |\n| all | 1 | 0 | 0 | 1 |";
    const different = (why: string): readonly string[] =>
      found(ROW.replace("| same |", `| different: ${why} |`), counts);
    expect(different("another thing (9.1)")).toEqual([]);
    expect(different("one more (001-b)")).toEqual([]);
    expect(different("because")).toEqual(["001 row 1: a difference must name its item of section 9"]);
    expect(different("because (9.2)")).toEqual(["001 row 1: section 9 has no 9.2"]);
    expect(
      found(ROW.replace("| same |", "| fine |"), "| 001 | 1 | 0 | 0 | 0 |\n| all | 1 | 0 | 0 | 0 |"),
    ).toEqual(["001 row 1: the verdict is fine, not one of same, stronger, different"]);
  });

  it("numbers its rows, and counts them", () => {
    const two = `${ROW}\n${ROW}`;
    expect(found(two, "| 001 | 2 | 2 | 0 | 0 |\n| all | 2 | 2 | 0 | 0 |")).toEqual([
      "001 row 1: its number must be 2",
    ]);
    expect(found(two.replace(/1(?= \| A claim[^\n]*$)/, "2"))).toEqual([
      "the counts must be | 001 | 2 | 2 | 0 | 0 |",
      "the counts must be | all | 2 | 2 | 0 | 0 |",
    ]);
  });
});
