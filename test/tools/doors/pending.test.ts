import { describe, expect, it } from "vitest";
import { inspect } from "../../../tools/doors.mjs";
import { pendingOf, pruned, withPending } from "../../../tools/doors/pending.mjs";
import type { Pending } from "../../../tools/doors/sources.mjs";
import { check, fakeProject, fakeRules, type FakeRules } from "../support/fake-project.ts";

/** One violation of each check that has a list. */
const files = {
  "src/index.ts": 'export { type A } from "./outbox/desk.ts";\n',
  "src/outbox/desk.ts":
    'import { sql } from "../storage/sql.ts";\nexport interface A {\n  a: typeof sql;\n}\n',
  "src/outbox/outbox-page.ts": 'export const q = (d) => d.table("saga_logs");\n',
  "src/outbox/third.ts": "",
  "src/sagas/a.ts": "",
  "src/storage/sql.ts": "export const sql = 1;\n",
  "src/storage/migrations/0001-all.ts": 'export const m = (d) => d.table("saga_logs");\n',
};
const rules: FakeRules = {
  filesMax: 2,
  tables: { saga_logs: "sagas" },
  words: [{ part: "desk", use: "LeasePool" }],
};
const pending: Required<Pending> = {
  sqlPlacement: ["outbox/desk.ts"],
  tables: { "outbox/outbox-page.ts": ["saga_logs"] },
  folders: { "src/outbox": 3 },
  prefixes: ["outbox/outbox-page.ts"],
  undocumented: ["A"],
  replacedWords: ["desk"],
};

describe("the lists of what is pending", () => {
  it("let what they name pass, and nothing else", () => {
    expect(check(files, rules)).toHaveLength(7);
    expect(check(files, { ...rules, pending })).toEqual([]);
    const more = { ...files, "src/sagas/sagas-x.ts": 'import { sql } from "../storage/sql.ts";\n' };
    expect(check(more, { ...rules, pending })).toEqual([
      "src/sagas/sagas-x.ts:1 imports `sql`; SQL stands only in storage/ and in files named *queries.ts",
      'src/sagas/sagas-x.ts:1 the folder is named "sagas" already; name the file x.ts',
    ]);
  });

  it("are what the violations of today would fill them with", () => {
    const folder = fakeProject(files);
    expect(pendingOf(inspect(folder, fakeRules(folder, files, rules)).found)).toEqual(pending);
  });

  it("may not name what is in order", () => {
    const orderly = {
      "src/index.ts": 'export { type A } from "./outbox/pool.ts";\n',
      "src/outbox/pool.ts": "/** A. */\nexport interface A {\n  /** A. */\n  a: string;\n}\n",
      "src/sagas/a.ts": "",
      "src/storage/migrations/0001-all.ts": files["src/storage/migrations/0001-all.ts"],
    };
    const found = check(orderly, { ...rules, pending });
    const stale = (key: string, list: string): string =>
      `tools/doors.json:1 "${key}" in pending.${list} is no longer needed; remove it (node tools/doors.mjs --prune)`;
    expect(found).toEqual([
      stale("outbox/desk.ts", "sqlPlacement"),
      stale("outbox/outbox-page.ts: saga_logs", "tables"),
      stale("src/outbox: 3", "folders"),
      stale("outbox/outbox-page.ts", "prefixes"),
      stale("A", "undocumented"),
      stale("desk", "replacedWords"),
    ]);
  });

  it("hold a folder to the number of files that it has today", () => {
    const folders = (count: number): FakeRules => ({
      ...rules,
      pending: { ...pending, folders: { "src/outbox": count } },
    });
    expect(check(files, folders(2))).toEqual([
      "src/outbox:1 3 files in one folder; divide it by concept (at most 2)",
    ]);
    expect(check(files, folders(5))).toEqual([
      'tools/doors.json:1 "src/outbox: 5" in pending.folders is no longer needed; write 3 (node tools/doors.mjs --prune)',
    ]);
  });

  it("are pruned of what is in order, and never grow", () => {
    const folder = fakeProject(files);
    const { found } = inspect(folder, fakeRules(folder, files, rules));
    const before: Pending = {
      ...pending,
      sqlPlacement: ["outbox/gone.ts"],
      tables: { "outbox/outbox-page.ts": ["saga_logs", "outbox"], "outbox/gone.ts": ["outbox"] },
      folders: { "src/outbox": 9, "src/gone": 20 },
      undocumented: ["B", "A"],
    };
    expect(pruned(found, before)).toEqual({ ...pending, sqlPlacement: [] });
    expect(pruned(found, {})).toEqual(pendingOf({ ...found, ...NOTHING }));
  });

  it("are replaced in the table without a change to the rest of it", () => {
    const text = '{\n  "rooms": { "core": { "opens": [] } },\n  "pending": { "prefixes": ["a.ts"] }\n}\n';
    const next = withPending(text, { prefixes: [] });
    expect(next.startsWith('{\n  "rooms": { "core": { "opens": [] } },\n  "pending": {')).toBe(true);
    expect(JSON.parse(next)).toEqual({ rooms: { core: { opens: [] } }, pending: { prefixes: [] } });
    expect(() => withPending('{ "pending": {}, "rooms": {} }', {})).toThrow("must be the last key");
  });
});

const NOTHING = {
  sqlPlacement: [],
  tables: [],
  folders: [],
  prefixes: [],
  undocumented: [],
  replacedWords: [],
};
