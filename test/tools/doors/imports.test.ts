import { describe, expect, it } from "vitest";
import { roomDiagram } from "../../../tools/doors.mjs";
import { mermaid } from "../../../tools/doors/picture.mjs";
import type { Room } from "../../../tools/doors/sources.mjs";
import { check, fakeProject, fakeRules } from "../support/fake-project.ts";

const ROOMS: Record<string, Room> = {
  core: { opens: [], builtins: false, packages: [], typePackages: ["@standard-schema/spec"], pure: true },
  outbox: { opens: ["core"] },
  entry: { opens: "all" },
};

describe("the doors between rooms", () => {
  it("let a room open what the table allows", () => {
    const found = check(
      {
        "src/index.ts":
          '/** Claims. */\nexport { type Claim } from "./outbox/claim.ts";\n/** Rest. */\nexport const rest = 1;\n',
        "src/outbox/claim.ts":
          'import { randomUUID } from "node:crypto";\nimport { x } from "../core/x.ts";\nexport const claim = [x, randomUUID];\n/** A claim. */\nexport type Claim = 1;\n',
        "src/core/x.ts":
          'import type { StandardSchemaV1 } from "@standard-schema/spec";\nexport const x = (s: StandardSchemaV1) => new Date(s.length);\n',
      },
      { rooms: ROOMS },
    );
    expect(found).toEqual([]);
  });

  it("stay shut otherwise, and the line is named", () => {
    const found = check(
      {
        "src/core/a.ts":
          '// import "../x.ts"\nimport { b } from "../storage/b.ts";\nimport fs from "node:fs";\nimport s from "@standard-schema/spec";\nimport pg from "pg";\n',
        "src/storage/b.ts": 'export const b = await import("../sagas/c.ts");\n',
        "src/sagas/c.ts": 'import type { D } from "../webhooks/d.ts";\nimport "../../test/e.ts";\n',
        "src/webhooks/d.ts": "export type D = 1;\n",
        "src/elsewhere/f.ts": "",
      },
      {
        rooms: {
          core: ROOMS["core"] as Room,
          storage: { opens: [] },
          sagas: { opens: [] },
          webhooks: { opens: [] },
        },
      },
    );
    expect(found).toEqual([
      "src/core/a.ts:2 core may not open storage (../storage/b.ts)",
      "src/core/a.ts:3 core may not use node:fs",
      "src/core/a.ts:4 core may take only types from @standard-schema/spec",
      "src/core/a.ts:5 core may not use pg",
      'src/elsewhere/f.ts:1 the room "elsewhere" is not in tools/doors.json',
      "src/sagas/c.ts:1 sagas may not open webhooks (../webhooks/d.ts)",
      "src/sagas/c.ts:2 ../../test/e.ts is outside src/",
      "src/storage/b.ts:1 storage may not open sagas (../sagas/c.ts)",
    ]);
  });

  it("keep the clock, chance and the process out of a pure room, but not out of its comments", () => {
    const found = check(
      {
        "src/core/a.ts": [
          "// Date.now() would be wrong here.",
          "export const a = [Date.now(), new Date(), Math.random(), `${performance.now()} Date.now`];",
          'export const b = [process.env["X"], setTimeout, "Math.random"];',
          "export const c = new Date(5);",
        ].join("\n"),
      },
      { rooms: { core: { opens: [], pure: true } } },
    );
    expect(found.map((line) => line.replace("core is pure and may not use ", ""))).toEqual([
      "src/core/a.ts:2 Date.now",
      "src/core/a.ts:2 new Date() without an argument",
      "src/core/a.ts:2 Math.random",
      "src/core/a.ts:2 performance.now",
      "src/core/a.ts:3 process",
      "src/core/a.ts:3 a timer",
    ]);
  });

  it("refuse star exports", () => {
    const found = check({ "src/core/a.ts": 'export * from "./b.ts";\n', "src/core/b.ts": "" });
    expect(found).toEqual(["src/core/a.ts:1 export * hides what is offered; name the exports one by one"]);
  });

  it("refuse a circle of imports, unless it is one of types", () => {
    const found = check({
      "src/core/a.ts": 'import { b } from "./b.ts";\nexport const a = b;\n',
      "src/core/b.ts": 'import {\n  c,\n} from "./c.ts";\nexport const b = c;\n',
      "src/core/c.ts": 'import { a } from "./a.ts";\nexport const c = a;\n',
      "src/core/d.ts": 'import type { E } from "./e.ts";\nexport type D = E;\n',
      "src/core/e.ts": 'import type { D } from "./d.ts";\nexport type E = D;\n',
    });
    expect(found).toEqual([
      "src/core/c.ts:1 a cycle: src/core/a.ts → src/core/b.ts → src/core/c.ts → src/core/a.ts",
    ]);
  });

  it("let a room inside a room have doors of its own, and keep its neighbours out", () => {
    const found = check(
      {
        "src/webhooks/front.ts":
          'import { j } from "./jobs/j.ts";\nimport { o } from "./orchestrator/deep/o.ts";\nexport const front = [j, o];\n',
        "src/webhooks/jobs/j.ts": 'import { x } from "../../core/x.ts";\nexport const j = x;\n',
        "src/webhooks/orchestrator/deep/o.ts":
          'import { j } from "../../jobs/j.ts";\nimport type { Front } from "../../front.ts";\nimport { p } from "../p.ts";\nexport const o = [j, p];\n',
        "src/webhooks/orchestrator/p.ts": "export const p = 1;\n",
        "src/webhooks/unnamed/q.ts": 'import { j } from "../jobs/j.ts";\nexport const q = j;\n',
        "src/core/x.ts": "export const x = 1;\n",
        "src/operate/a.ts":
          'import { front } from "../webhooks/front.ts";\nimport { j } from "../webhooks/jobs/j.ts";\n',
      },
      {
        rooms: {
          core: { opens: [] },
          "webhooks/jobs": { opens: ["core"] },
          "webhooks/orchestrator": { opens: [] },
          webhooks: { opens: ["webhooks/jobs", "webhooks/orchestrator"] },
          operate: { opens: ["webhooks"] },
        },
      },
    );
    expect(found).toEqual([
      "src/operate/a.ts:2 operate may not open webhooks/jobs (../webhooks/jobs/j.ts)",
      "src/webhooks/orchestrator/deep/o.ts:1 webhooks/orchestrator may not open webhooks/jobs (../../jobs/j.ts)",
      "src/webhooks/orchestrator/deep/o.ts:2 webhooks/orchestrator may not open webhooks (../../front.ts)",
    ]);
  });
});

describe("the table of doors", () => {
  const files = {
    "src/core/x.ts": "export const x = 1;\n",
    "src/outbox/a.ts": 'import type { x } from "../core/x.ts";\nexport type A = typeof x;\n',
    "src/sagas/b.ts": "export const b = 1;\n",
  };

  it("may not hold a door that no import uses", () => {
    const rooms = {
      core: { opens: [] },
      outbox: { opens: ["core"] },
      sagas: { opens: ["core", "outbox"] },
    };
    const tableText = JSON.stringify({ rooms }, null, 2);
    expect(check(files, { rooms, tableText })).toEqual([
      "tools/doors.json:11 sagas may open core, but no file of sagas imports it; close it",
      "tools/doors.json:11 sagas may open outbox, but no file of sagas imports it; close it",
    ]);
    expect(check(files, { rooms: { ...rooms, sagas: { opens: [] } } })).toEqual([]);
  });

  it("may not open everything, except for the entries", () => {
    const rooms: Record<string, Room> = {
      core: { opens: [] },
      outbox: { opens: "all" },
      sagas: { opens: [] },
      entry: { opens: "all" },
    };
    expect(check({ ...files, "src/index.ts": "" }, { rooms })).toEqual([
      'tools/doors.json:1 outbox opens "all"; list the rooms that it imports',
    ]);
  });

  it("may not hold a room without files", () => {
    const rooms = { core: { opens: [] }, outbox: { opens: ["core"] }, sagas: { opens: [] } };
    expect(check(files, { rooms: { ...rooms, cellar: { opens: [] } } })).toEqual([
      'tools/doors.json:1 the room "cellar" has no files; remove it from the table',
    ]);
  });
});

describe("the picture of the rooms", () => {
  it("is drawn from the imports, not from what the table allows", () => {
    const files = {
      "src/core/x.ts": "export const x = 1;\n",
      "src/storage/y.ts": 'import { x } from "../core/x.ts";\nexport const y = x;\n',
      "src/sagas/deep/z.ts":
        'import { x } from "../../core/x.ts";\nimport type { y } from "../../storage/y.ts";\nexport const z: typeof y = x;\n',
    };
    const folder = fakeProject(files);
    const { table } = fakeRules(folder, files, {});
    const rooms = { ...table.rooms, core: { opens: ["sagas"] }, "sagas/deep": { opens: [] } };
    expect(roomDiagram(folder, { ...table, rooms }).split("\n")).toEqual([
      "flowchart TD",
      "  storage --> core",
      '  sagas_deep["sagas/deep"] --> storage',
    ]);
  });

  it("leaves out arrows that follow from others, and keeps every room within reach in a circle", () => {
    const imports = new Map([
      ["a", new Set<string>()],
      ["b", new Set(["a"])],
      ["c", new Set(["a", "b", "d"])],
      ["d", new Set(["a", "c"])],
    ]);
    expect(mermaid(imports).split("\n")).toEqual([
      "flowchart TD",
      "  b --> a",
      "  c --> b",
      "  c --> d",
      "  d --> c",
    ]);
  });
});
