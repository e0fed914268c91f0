/** The progress of calls, as it is kept and read. */
import { expect, it } from "vitest";
import {
  decodeProgress,
  encodeProgress,
  openProgress,
  withReported,
  type Progress,
} from "../../../src/core/saga/progress.ts";
import { initial } from "../../../src/core/saga/state.ts";

const STEP = { undo: true, pivot: false, undoOnErr: false, atomic: false };
const state = initial(
  Array.from({ length: 40 }, (_, n) => ({ ...STEP, name: `s${n}`, group: { name: "all" } })),
  true,
);
const acting = { ...state, steps: state.steps.map((step) => ({ ...step, act: "begun" as const })) };

function reported(names: readonly string[], json: string): Progress {
  let progress: Progress | undefined;
  for (const [atMs, name] of names.entries()) progress = withReported(progress, name, { json, atMs });
  return progress ?? new Map();
}

it("[S-45] what is stored is read back, the last report at the end", () => {
  const progress = withReported(reported(["s1", "s2"], '{"page":1}'), "s1", { json: '"later"', atMs: 9 });
  const text = encodeProgress(progress) as string;
  expect([...progress.keys()]).toEqual(["s2", "s1"]);
  expect(text.endsWith('"at":9}}')).toBe(true);
  expect(decodeProgress(text)).toEqual(progress);
  expect(encodeProgress(new Map())).toBeNull();
});

it("[S-45] all values of a saga together are bounded: those that were reported longest ago are dropped", () => {
  const names = Array.from({ length: 40 }, (_, n) => `s${n}`);
  const kept = openProgress(acting, reported(names, `"${"x".repeat(16_000)}"`));
  expect([...kept.keys()]).toEqual(names.slice(-16));
  expect((encodeProgress(kept) as string).length).toBeLessThan(300_000);
});

it("[S-45] names that the saga does not have are left out, and a text that was changed by hand is no progress", () => {
  expect(openProgress(acting, reported(["s1", "gone", "undo s1", "s1[3]"], "1"))).toEqual(
    new Map([["s1", { json: "1", atMs: 0 }]]),
  );
  for (const text of ["", "{", "[1]", '{"s1":null}']) expect(decodeProgress(text)?.size ?? 0).toBe(0);
});
