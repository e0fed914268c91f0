import { describe, expect, it } from "vitest";
import { blank, importsOf, partsOf } from "../../tools/source-text.mjs";

describe("imports", () => {
  it("are found in code only, in whatever shape", () => {
    const text = [
      'import a, { type B } from "a";',
      'import type C from "c";',
      'export { d } from "d";',
      'export type { E } from "e";',
      "const f = 'import x from \"f\"'; const r = /[\"'`]/;",
      '/* import "g" */ import "h";',
      'const i = `${await import("i")} import "j"`;',
      'import * as k from "k";',
    ].join("\n");
    expect(
      importsOf(text).map(({ specifier, line, typeOnly, exported }) => [specifier, line, typeOnly, exported]),
    ).toEqual([
      ["a", 1, false, false],
      ["c", 2, true, false],
      ["d", 3, false, true],
      ["e", 4, true, true],
      ["h", 6, false, false],
      ["i", 7, false, false],
      ["k", 8, false, false],
    ]);
  });

  it("say which names they take, and which of them are types", () => {
    const text = [
      'import a, { type B, c as d, type E as F } from "a";',
      'import type { G } from "g";',
      'export { default as h, type } from "h";',
      'import * as i from "i";',
      'import "j";',
      'import("k");',
    ].join("\n");
    expect(
      importsOf(text).map(({ names }) =>
        names.map(({ name, as, typeOnly }) => `${typeOnly ? "type " : ""}${name} as ${as}`),
      ),
    ).toEqual([
      ["default as a", "type B as B", "c as d", "type E as F"],
      ["type G as G"],
      ["default as h", "type as type"],
      ["* as i"],
      [],
      ["* as *"],
    ]);
  });
});

describe("the scanner", () => {
  const kept = (text: string, jsx = false): string => blank(text, { jsx }).replaceAll(/\s+/g, " ").trim();

  it("keeps offsets and lines", () => {
    const text = 'a /* b\nc */ "d" `e\n${f}` // g\nh';
    expect(blank(text)).toHaveLength(text.length);
    expect(blank(text).split("\n")).toHaveLength(text.split("\n").length);
  });

  it("tells a regular expression from a division", () => {
    expect(kept("const a = /['\"`]/.test(b) / 2 / c;")).toBe("const a = .test(b) / 2 / c;");
    expect(kept("return /* why */ /[/'`]+/g;")).toBe("return g;");
    expect(kept("const a = b++ / c; const d = 'e' / f;")).toBe("const a = b++ / c; const d = ' ' / f;");
    expect(kept("const a = b\n  / c\n  / d;")).toBe("const a = b / c / d;");
  });

  it("reads the code inside of templates, however deep, and knows their tags", () => {
    expect(kept("sql`a ${b(`c ${{ d: '}' }.d} e`)} f` + g")).toBe("sql` ${b(` ${{ d: ' ' }.d} `)} ` + g");
    const tags = partsOf("sql`a` + b.sql<Row>`c` + `d`").map(({ tag }) => tag);
    expect(tags).toEqual(["sql", "b.sql", undefined]);
  });

  it("leaves escapes and unfinished texts behind", () => {
    expect(kept("const a = 'b\\'c' + \"d\\\\\" + e;")).toBe("const a = ' ' + \" \" + e;");
    expect(kept("const a = 'b\nconst c = `d")).toBe("const a = ' const c = `");
  });

  it("tells JSX's text from its code", () => {
    const text = [
      "const a = (",
      '  <Table<Row> class="it\'s" on={() => b < c} wide>',
      "    It's `here` // and /* there */ <b>{d && <i>don't</i>}</b>",
      "    <br />",
      "  </Table>",
      ");",
      "const e = f < g || h > i ? <></> : 'j';",
    ].join("\n");
    const code = kept(text, true);
    for (const word of ["It", "here", "there", "don", "it"])
      expect(code).not.toMatch(new RegExp(`\\b${word}\\b`));
    for (const word of ["Row", "on", "b", "d", "wide", "f", "i"])
      expect(code).toMatch(new RegExp(`\\b${word}\\b`));
    expect(code.endsWith("const e = f < g || h > i ? <></> : ' ';")).toBe(true);
  });
});
