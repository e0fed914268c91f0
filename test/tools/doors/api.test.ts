import { describe, expect, it } from "vitest";
import { apiOf, printedApi } from "../../../tools/doors/api.mjs";
import { readTexts, sourcesOf } from "../../../tools/doors/sources.mjs";
import { check, fakeProject, fakeRules } from "../support/fake-project.ts";

/** The names that are found without a comment, with their lines. */
const undocumented = (files: Readonly<Record<string, string>>): string[] =>
  check(files).map((line) =>
    line.replace(/ is public \((.*)\) and has no comment that says what it is$/, " ($1)"),
  );

describe("what an entry exports", () => {
  it("has a comment at its declaration, found through imports and exports", () => {
    const found = undocumented({
      "src/index.ts": [
        'import { local, type Third as Renamed } from "./core/more.ts";',
        'export { documented, plain as other, type Shape } from "./core/a.ts";',
        "export type { Renamed };",
        "export { local };",
        "/** The version. */",
        'export const version = "1";',
        "export function bare(): void {}",
      ].join("\n"),
      "src/core/a.ts": [
        "/** What the file is for. */",
        'import { far } from "./more.ts";',
        "",
        "/** It is documented. */",
        "export const documented = far;",
        "// Not a comment of documentation.",
        "export const plain = 1;",
        'export { type Shape } from "./more.ts";',
      ].join("\n"),
      "src/core/more.ts": [
        "export const far = 1;",
        "/** */",
        "export const local = 1;",
        "export type Shape = string;",
        "type Own = number;",
        "export { type Own as Third };",
      ].join("\n"),
    });
    expect(found).toEqual([
      "src/core/a.ts:7 plain (src/index.ts)",
      "src/core/more.ts:3 local (src/index.ts)",
      "src/core/more.ts:4 Shape (src/index.ts)",
      "src/core/more.ts:5 Own (src/index.ts)",
      "src/index.ts:7 bare (src/index.ts)",
    ]);
  });

  it("needs one comment for all overloads, and none where a package declares it", () => {
    const found = undocumented({
      "src/index.ts": 'export { ok, y } from "./core/a.ts";\nexport { z } from "zod";\n',
      "src/core/a.ts":
        'import { y } from "yup";\nexport { y };\n' +
        "/** It went well. */\nexport function ok(): void;\nexport function ok(value?: unknown): void {}\n",
    });
    expect(found).toEqual([]);
  });

  it("must be declared somewhere", () => {
    expect(check({ "src/index.ts": 'export { gone } from "./core/a.ts";\n', "src/core/a.ts": "" })).toEqual([
      "src/index.ts:1 cannot find the declaration of gone",
    ]);
  });

  it("may lack comments where no entry exports it", () => {
    expect(check({ "src/core/a.ts": "export interface A {\n  a: string;\n}\n" })).toEqual([]);
  });
});

describe("the members of what an entry exports", () => {
  const offering = (names: string, text: string): string[] =>
    undocumented({ "src/index.ts": `export { ${names} } from "./core/a.ts";\n`, "src/core/a.ts": text }).map(
      (line) => line.replace("src/core/a.ts:", "").replace(" (src/index.ts)", ""),
    );

  it("have comments in an interface, whatever their form", () => {
    const found = offering(
      "type A",
      `/** A thing. */
export interface A<T extends { x: 1 } = { x: 1 }> {
  /** Documented. */
  readonly one: { readonly inner: string };
  readonly two?: (a: string, b: Map<string, T>) => void;
  /* Not documentation. */
  three(options: { a: string; b: string }): { c: string };
  (call: string): void;
  new (call: string): A;
  [key: string]: unknown;
  "quoted-name": string;
  /** Documented. */
  [Symbol.iterator](): unknown;
  [MARK]: "a brand that nobody can name";
  readonly: string;
}
`,
    );
    expect(found).toEqual([
      "5 A.two",
      "7 A.three",
      "8 A.(call)",
      "9 A.new",
      "10 A.[key: string]",
      '11 A."quoted-name"',
      "15 A.readonly",
    ]);
  });

  it("have comments in a class, where they are public", () => {
    const found = offering(
      "B",
      `/** A thing. */
export class B<T> {
  static readonly made: { a: string } = { a: "}" };
  readonly #secret = 1;
  private hidden = () => {
    return { a: 1 };
  };
  protected inner?: string;
  readonly wide: Readonly<{
    a: string;
  }>;
  /** Documented. */
  get value(): T {
    return \`\${{ a: 1 }.a}\` as T;
  }
  set value(next: T) {
    this.hidden();
  }
  static {
    this.made.a = "";
  }
  constructor(options: {
    /** Documented. */
    readonly a: string;
    readonly b?: Map<string, { c: string }>;
  }) {
    const { a } = options;
  }
  /** Documented. */
  async *walk(): AsyncGenerator<T> {}
  find(): { a: string } {
    if (this.made) {
      return { a: "" };
    }
    return { a: "x" };
  }
  #own(): void {}
  declare last;
}
`,
    );
    expect(found).toEqual(["3 B.made", "9 B.wide", "25 B.constructor.b", "31 B.find", "38 B.last"]);
  });

  it("need none for a constructor that has a comment", () => {
    const text =
      "/** A thing. */\nexport class B {\n  /** For the engine. @internal */\n  constructor(one: { a: string }) {}\n}\n";
    expect(offering("B", text)).toEqual([]);
  });

  it("have comments in an object type, but not in the variants of a union", () => {
    const found = offering(
      "type A, type B, type C, type D, type E",
      `/** An object. */
export type A<T> = {
  readonly a: T;
};
/** A combination. */
export type B = Base<string> & { readonly b: string };
interface Base<T> {
  readonly base: T;
}
/** A union. */
export type C = { readonly ok: true } | { readonly ok: false; readonly why: string };
/** A function. */
export type D = (a: { readonly b: string }) => { readonly c: string };
/** A mapped type. */
export type E<T> = { [K in keyof T]: string };
`,
    );
    expect(found).toEqual(["3 A.a", "6 B.b", "8 Base.base"]);
  });

  it("count as documented where the base or the interface documents them, and inherited ones count too", () => {
    const found = undocumented({
      "src/index.ts": 'export { Store, type Wide } from "./core/a.ts";\n',
      "src/core/a.ts": `import { type Contract, type Near as Close } from "./b.ts";
/** A store. */
export class Store extends Base<{ a: 1 }> implements Contract<string>, Other {
  read(): void {}
  write(): void {}
  other(): void {}
}
class Base<T> {
  inherited(): void {}
}
/** Wide. */
export interface Wide extends Close, Contract<string> {}
`,
      "src/core/b.ts": `export interface Contract<T> extends Near {
  /** Reads. */
  read(): void;
}
export interface Near {
  /** Writes. */
  write(): void;
  near: string;
}
`,
    });
    expect(found).toEqual([
      "src/core/a.ts:6 Store.other (src/index.ts)",
      "src/core/a.ts:9 Base.inherited (src/index.ts)",
      "src/core/b.ts:8 Near.near (src/index.ts)",
    ]);
  });
});

it("the size of each entry is printed with its names", () => {
  const files = {
    "src/index.ts": 'export { b, type A } from "./core/a.ts";\n',
    "src/sqlite.ts": "/** Opens. */\nexport function sqlite(): void {}\n",
    "src/core/a.ts": "export interface A {\n  one: string;\n}\n/** B. */\nexport const b = 1;\n",
  };
  const folder = fakeProject(files);
  const { table } = fakeRules(folder, files, {});
  expect(printedApi(apiOf(sourcesOf(readTexts(folder, ["src"]), table)))).toBe(
    [
      "src/index.ts: 2 names, 2 names or members undocumented",
      "  A, b",
      "  undocumented:",
      "    A",
      "    A.one",
      "",
      "src/sqlite.ts: 1 names, 0 names or members undocumented",
      "  sqlite",
    ].join("\n"),
  );
});
