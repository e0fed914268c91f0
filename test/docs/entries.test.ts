/** The page of entries lists what the package exports, and the root entry stays small. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { apiOf } from "../../tools/doors/api.mjs";
import { readRules } from "../../tools/doors.mjs";
import { readTexts, sourcesOf } from "../../tools/doors/sources.mjs";
import { root } from "../../tools/project.mjs";

const read = (file: string): string => readFileSync(path.join(root, file), "utf8");

const rows = [...read("docs/guides/entries.md").matchAll(/^\| `(amends[\w/-]*)` \| [^|]+ \| ([^|]+) \|$/gm)];

const { exports } = JSON.parse(read("package.json")) as { exports: Record<string, { types?: string }> };

function fileOf(entry: string): string {
  const types = exports[`./${entry.slice("amends/".length)}`.replace(/^\.\/$/, ".")]?.types ?? "";
  return types.replace("./dist/", "src/").replace(".d.ts", ".ts");
}

const api = new Map(
  apiOf(sourcesOf(readTexts(root, ["src"]), readRules().table)).map(({ entry, names }) => [entry, names]),
);

it("the page of entries has a row for each entry, and names what the entry exports", () => {
  const entries = Object.keys(exports).flatMap((door) =>
    door.endsWith(".json") ? [] : [path.posix.join("amends", door)],
  );
  expect(rows.map(([, entry = ""]) => entry).toSorted()).toEqual(entries.toSorted());
  for (const [, entry = "", names = ""] of rows) {
    const offered = api.get(fileOf(entry)) ?? [];
    for (const [, name = ""] of names.matchAll(/`(\w+)`/g))
      expect([entry, offered]).toContainEqual(expect.arrayContaining([name]));
  }
});

it("the root entry has at most 45 names", () => {
  expect(api.get("src/index.ts")?.length).toBeLessThanOrEqual(45);
});
