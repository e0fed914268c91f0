import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { checkDoors, mermaid, readTable } from "../../tools/doors.mjs";

let folder = "";

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "amends-doors-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

function check(files: Record<string, string>): string[] {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
  return checkDoors(folder, readTable()).map(({ file, line, message }) => `${file}:${line} ${message}`);
}

describe("the doors", () => {
  it("let a room open what the table allows", () => {
    const found = check({
      "index.ts": 'export { claim } from "./outbox/claim.ts";\n',
      "outbox/claim.ts":
        'import { randomUUID } from "node:crypto";\nimport { x } from "../core/x.ts";\nexport const claim = [x, randomUUID];\n',
      "core/x.ts":
        'import type { StandardSchemaV1 } from "@standard-schema/spec";\nexport const x = (s: StandardSchemaV1) => new Date(s.length);\n',
    });
    expect(found).toEqual([]);
  });

  it("stay shut otherwise, and the line is named", () => {
    const found = check({
      "core/a.ts":
        '// import "../x.ts"\nimport { b } from "../storage/b.ts";\nimport fs from "node:fs";\nimport s from "@standard-schema/spec";\nimport pg from "pg";\n',
      "storage/b.ts": 'export const b = await import("../sagas/c.ts");\n',
      "sagas/c.ts": 'import type { D } from "../webhooks/d.ts";\nimport "../../test/e.ts";\n',
      "webhooks/d.ts": "export type D = 1;\n",
      "elsewhere/f.ts": "",
    });
    expect(found).toEqual([
      "core/a.ts:2 core may not open storage (../storage/b.ts)",
      "core/a.ts:3 core may not use node:fs",
      "core/a.ts:4 core may take only types from @standard-schema/spec",
      "core/a.ts:5 core may not use pg",
      'elsewhere/f.ts:1 the room "elsewhere" is not in tools/doors.json',
      "sagas/c.ts:1 sagas may not open webhooks (../webhooks/d.ts)",
      "sagas/c.ts:2 ../../test/e.ts is outside src/",
      "storage/b.ts:1 storage may not open sagas (../sagas/c.ts)",
    ]);
  });

  it("keep the clock, chance and the process out of the core, but not out of its comments", () => {
    const found = check({
      "core/a.ts": [
        "// Date.now() would be wrong here.",
        "export const a = [Date.now(), new Date(), Math.random(), `${performance.now()} Date.now`];",
        'export const b = [process.env["X"], setTimeout, "Math.random"];',
        "export const c = new Date(5);",
      ].join("\n"),
    });
    expect(found.map((line) => line.replace("core is pure and may not use ", ""))).toEqual([
      "core/a.ts:2 Date.now",
      "core/a.ts:2 new Date() without an argument",
      "core/a.ts:2 Math.random",
      "core/a.ts:2 performance.now",
      "core/a.ts:3 process",
      "core/a.ts:3 a timer",
    ]);
  });

  it("refuse empty names, star exports and long files", () => {
    const found = check({
      "index.ts": 'export * from "./core/a.ts";\n',
      "core/a.ts": "export const a = 1;\n".repeat(401),
      "core/utils.ts": "",
      "core/index.ts": "",
    });
    expect(found).toEqual([
      "core/a.ts:401 401 lines; split it by statement or by phase (at most 400)",
      'core/index.ts:1 "index" says nothing about what the file holds',
      'core/utils.ts:1 "utils" says nothing about what the file holds',
      "index.ts:1 export * hides what is offered; name the exports one by one",
    ]);
  });

  it("refuse a circle of imports, unless it is one of types", () => {
    const found = check({
      "core/a.ts": 'import { b } from "./b.ts";\nexport const a = b;\n',
      "core/b.ts": 'import {\n  c,\n} from "./c.ts";\nexport const b = c;\n',
      "core/c.ts": 'import { a } from "./a.ts";\nexport const c = a;\n',
      "core/d.ts": 'import type { E } from "./e.ts";\nexport type D = E;\n',
      "core/e.ts": 'import type { D } from "./d.ts";\nexport type E = D;\n',
    });
    expect(found).toEqual(["core/c.ts:1 a cycle: core/a.ts → core/b.ts → core/c.ts → core/a.ts"]);
  });

  it("let a room inside a room have doors of its own, and keep its neighbours out", () => {
    const found = check({
      "webhooks/front.ts":
        'import { j } from "./jobs/j.ts";\nimport { o } from "./orchestrator/deep/o.ts";\nexport const front = [j, o];\n',
      "webhooks/jobs/j.ts": 'import { x } from "../../core/x.ts";\nexport const j = x;\n',
      "webhooks/orchestrator/deep/o.ts":
        'import { j } from "../../jobs/j.ts";\nimport type { Front } from "../../front.ts";\nimport { p } from "../p.ts";\nexport const o = [j, p];\n',
      "webhooks/orchestrator/p.ts": "export const p = 1;\n",
      "webhooks/unnamed/q.ts": 'import { j } from "../jobs/j.ts";\nexport const q = j;\n',
      "core/x.ts": "export const x = 1;\n",
      "operate/a.ts":
        'import { front } from "../webhooks/front.ts";\nimport { j } from "../webhooks/jobs/j.ts";\n',
    });
    expect(found).toEqual([
      "operate/a.ts:2 operate may not open webhooks/jobs (../webhooks/jobs/j.ts)",
      "webhooks/orchestrator/deep/o.ts:1 webhooks/orchestrator may not open webhooks/jobs (../../jobs/j.ts)",
      "webhooks/orchestrator/deep/o.ts:2 webhooks/orchestrator may not open webhooks (../../front.ts)",
    ]);
  });

  it("[W-04] keep orchestrator, jobs, worker and dead letters apart", () => {
    const { rooms } = readTable();
    const four = ["orchestrator", "jobs", "worker", "dead-letters"].map((name) => `webhooks/${name}`);
    for (const name of four)
      expect([name, four.filter((other) => rooms[name]?.opens.includes(other))]).toEqual([name, []]);
    for (const name of four.filter((other) => other !== "webhooks/worker"))
      expect([name, rooms[name]?.opens.includes("webhooks/sending")]).toEqual([name, false]);
  });

  it("are drawn from the same table", () => {
    expect(mermaid(readTable()).split("\n")).toEqual(
      expect.arrayContaining(["flowchart TD", "  storage --> core", "  sagas --> outbox"]),
    );
  });
});
