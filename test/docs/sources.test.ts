/** What docs/sources.md says about the source documents is true: see tools/sources.mjs. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { root } from "../../tools/project.mjs";
import { findings, readRows } from "../../tools/sources.mjs";

function read(file: string): string | undefined {
  const place = path.join(root, file);
  return existsSync(place) ? readFileSync(place, "utf8") : undefined;
}

const page = read("docs/sources.md") ?? "";

it("every statement of the source documents has a place and a test that exist, and a deviation its reason", () => {
  expect(findings(page, read("docs/spec.md") ?? "", read)).toEqual([]);
});

it("all 197 statements are there", () => {
  expect(readRows(page)).toHaveLength(197);
});
