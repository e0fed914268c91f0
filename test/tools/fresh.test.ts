import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ensureFresh, type Made } from "../../tools/fresh.mjs";

let base = "";
let made = 0;

beforeEach(() => {
  base = mkdtempSync(path.join(tmpdir(), "amends-fresh-"));
  mkdirSync(path.join(base, "src"));
  writeFileSync(path.join(base, "src", "a.ts"), "a");
  made = 0;
});

afterEach(() => rmSync(base, { recursive: true, force: true }));

/** Copies the text of the source, as a compiler would. */
function copying(more: Partial<Made> = {}): Made {
  return {
    name: "copy",
    into: "out",
    proof: "out/a.js",
    sources: ["src"],
    make: async () => {
      made++;
      mkdirSync(path.join(base, "out"), { recursive: true });
      writeFileSync(path.join(base, "out", "a.js"), readFileSync(path.join(base, "src", "a.ts")));
      return { ok: true, output: "" };
    },
    ...more,
  };
}

it("what is made is made once, also where several ask at the same time", async () => {
  const outcomes = await Promise.all(Array.from({ length: 5 }, () => ensureFresh(copying(), { base })));
  expect(outcomes).toEqual(outcomes.map(() => ({ ok: true, output: "" })));
  await ensureFresh(copying(), { base });
  expect(made).toBe(1);
});

it("a source that changed, came or went makes it anew; a source with the same text does not", async () => {
  await ensureFresh(copying(), { base });
  writeFileSync(path.join(base, "src", "a.ts"), "a");
  await ensureFresh(copying(), { base });
  expect(made).toBe(1);
  writeFileSync(path.join(base, "src", "a.ts"), "b");
  await ensureFresh(copying(), { base });
  expect([made, readFileSync(path.join(base, "out", "a.js"), "utf8")]).toEqual([2, "b"]);
  writeFileSync(path.join(base, "src", "c.ts"), "");
  await ensureFresh(copying(), { base });
  rmSync(path.join(base, "src", "c.ts"));
  await ensureFresh(copying(), { base });
  expect(made).toBe(4);
});

it("an installed package is no source", async () => {
  await ensureFresh(copying(), { base });
  mkdirSync(path.join(base, "src", "deep", "node_modules"), { recursive: true });
  writeFileSync(path.join(base, "src", "deep", "node_modules", "b.ts"), "b");
  await ensureFresh(copying(), { base });
  expect(made).toBe(1);
  writeFileSync(path.join(base, "src", "deep", "c.ts"), "c");
  await ensureFresh(copying(), { base });
  expect(made).toBe(2);
});

it("a source that changes while it is made is noticed the next time", async () => {
  const plain = copying();
  const overtaken = copying({
    make: async () => {
      const outcome = await plain.make();
      writeFileSync(path.join(base, "src", "a.ts"), "newer");
      return outcome;
    },
  });
  await ensureFresh(overtaken, { base });
  await ensureFresh(plain, { base });
  expect([made, readFileSync(path.join(base, "out", "a.js"), "utf8")]).toEqual([2, "newer"]);
});

it("what was removed, what failed, and what another build wrote over is made anew", async () => {
  await ensureFresh(copying({ make: async () => ({ ok: false, output: "no" }) }), { base });
  expect(existsSync(path.join(base, "out"))).toBe(false);
  await ensureFresh(copying(), { base });
  rmSync(path.join(base, "out"), { recursive: true });
  await ensureFresh(copying(), { base });
  expect(made).toBe(2);
  await ensureFresh(copying({ name: "other" }), { base });
  await ensureFresh(copying(), { base });
  expect(made).toBe(4);
  await ensureFresh(copying(), { base, force: true });
  expect(made).toBe(5);
});

it("a process that died while it built keeps no other from building", async () => {
  const { pid } = spawnSync(process.execPath, ["-e", ""]);
  mkdirSync(path.join(base, ".amends", "built"), { recursive: true });
  writeFileSync(path.join(base, ".amends", "built", "out.lock"), String(pid));
  expect(await ensureFresh(copying(), { base })).toEqual({ ok: true, output: "" });
});
