import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { needsOf } from "../../tools/test-files.mjs";

let base = "";

beforeEach(() => {
  base = mkdtempSync(path.join(tmpdir(), "amends-files-"));
});

afterEach(() => rmSync(base, { recursive: true, force: true }));

function write(files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(base, name)), { recursive: true });
    writeFileSync(path.join(base, name), text);
  }
}

it("a test file needs what it reaches through its imports, in however many steps, also in a circle", () => {
  write({
    "test/a/one.test.ts": 'import { x } from "./support/x.ts";',
    "test/a/support/x.ts": 'import { y } from "../../support/y.ts"; export * from "../one.test.ts";',
    "test/support/y.ts": 'await import("../../tools/build.mjs");',
    "tools/build.mjs": "",
    "test/a/two.test.ts": 'import { chromium } from "playwright-core"; import "../support/y.ts";',
  });
  expect(needsOf("test/a/one.test.ts", base)).toEqual(["build"]);
  expect(needsOf("test/a/two.test.ts", base)).toEqual(["browser", "build"]);
});

it("a type, a comment and a string are no imports", () => {
  write({
    "test/a.test.ts":
      'import type { Page } from "playwright-core"; // import "../tools/build.mjs"\nconst text = `import "../tools/build.mjs"`;',
    "tools/build.mjs": "",
  });
  expect(needsOf("test/a.test.ts", base)).toEqual([]);
});

it("of this project, tests of processes need a build, those of pages a browser, others nothing", () => {
  expect(needsOf("test/cli/processes.test.ts")).toEqual(["build"]);
  expect(needsOf("test/console-ui/pages.test.ts").toSorted()).toEqual(["browser", "build"]);
  expect(needsOf("test/sagas/undo.test.ts")).toEqual([]);
});
