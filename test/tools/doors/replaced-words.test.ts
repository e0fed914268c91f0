import { describe, expect, it } from "vitest";
import { readRules } from "../../../tools/doors.mjs";
import type { ReplacedWord } from "../../../tools/doors/replaced-words.mjs";
import { check } from "../support/fake-project.ts";

const words: ReplacedWord[] = [
  { part: "desks?", use: "LeasePool" },
  { pattern: "Hold", use: "Lease" },
  { part: "hasty", use: "failFast", in: ["src"] },
  { pattern: "wary", use: "checked", literals: true },
];

describe("a replaced word", () => {
  it("is found as an identifier, as a part of one and in names of files, with its replacement", () => {
    const found = check(
      {
        "src/runtime/pool.ts":
          "export class EntryDesk {}\nconst deskOptions = DESKS_MAX;\nlet x: EntryDesk;\nfunction* y(one: Hold): void { x.#desk = y; }\n",
        "src/runtime/entry-desk.ts": "",
        "test/desk/one.test.ts": "",
        "test/desk/two.test.ts": "",
        "console-ui/src/page.tsx": "export const Page = () => <p class={desk}>Desk <Hold a={1} /></p>;\n",
        "bench/node_modules/desk/desk.mjs": "",
      },
      { words },
    );
    expect(found).toEqual([
      "console-ui/src/page.tsx:1 `desk` is a replaced word; use LeasePool",
      "console-ui/src/page.tsx:1 `Hold` is a replaced word; use Lease",
      "src/runtime/entry-desk.ts:1 `entry-desk.ts` is a replaced word; use LeasePool",
      "src/runtime/pool.ts:1 `EntryDesk` is a replaced word; use LeasePool",
      "src/runtime/pool.ts:2 `deskOptions` is a replaced word; use LeasePool",
      "src/runtime/pool.ts:2 `DESKS_MAX` is a replaced word; use LeasePool",
      "src/runtime/pool.ts:4 `Hold` is a replaced word; use Lease",
      "src/runtime/pool.ts:4 `desk` is a replaced word; use LeasePool",
      "test/desk/one.test.ts:1 `desk` is a replaced word; use LeasePool",
    ]);
  });

  it("stays ordinary English: in comments, texts and longer words, and outside of where it was ours", () => {
    const found = check(
      {
        "src/runtime/pool.ts":
          '/** A desk. */\nexport const a = "desk"; // Hold\nconst b = `hold the ${a} desk`;\nexport const hold = /Desk/;\nconst desktop = Holder;\n',
        "test/hasty.test.ts": "const hasty = 1;\n",
        "examples/page.tsx": "export const Page = () => <p>It's at the desk, {count} times.</p>;\n",
      },
      { words },
    );
    expect(found).toEqual([]);
  });

  it("is found as the whole text of a string where it was a literal", () => {
    const found = check(
      {
        "src/runtime/pool.ts": 'export const mode = "wary";\nexport const title = "be wary";\n',
      },
      { words },
    );
    expect(found).toEqual(["src/runtime/pool.ts:1 `wary` is a replaced word; use checked"]);
  });

  it("is listed once, with a pattern that compiles and what to use instead", () => {
    const listed = readRules().words;
    const names = listed.map(({ pattern, part }) => pattern ?? part ?? "");
    expect(new Set(names).size).toBe(names.length);
    for (const { pattern, part, use } of listed) {
      expect([pattern, part].filter((one) => one !== undefined)).toHaveLength(1);
      expect(() => new RegExp(pattern ?? part ?? "(")).not.toThrow();
      expect(use).not.toBe("");
    }
  });
});
