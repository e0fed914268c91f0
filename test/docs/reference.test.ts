/** The reference pages are what the sources say, and say something about every name. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { AmendsError, classify, type ErrorCode } from "../../src/core/errors.ts";
import { FAILURE_LABELS } from "../../src/core/saga/failure-label.ts";
import { apiOf } from "../../tools/doors/api.mjs";
import { readRules } from "../../tools/doors.mjs";
import { readTexts, sourcesOf } from "../../tools/doors/sources.mjs";
import { errorCodes, referencePages } from "../../tools/reference.mjs";
import { root } from "../../tools/project.mjs";

const sources = sourcesOf(readTexts(root, ["src"]), readRules().table);
const read = (file: string): string => readFileSync(path.join(root, file), "utf8");

describe("[C-13] the reference", () => {
  it.each(Object.entries(referencePages()))(
    "[C-13] %s is made from the sources as they are; npm run reference renews it",
    (file, page) => {
      expect(read(file)).toBe(page);
    },
  );

  it("[C-13] the API reference describes every exported name of every entry", () => {
    const { exports } = JSON.parse(read("package.json")) as { exports: Record<string, { types?: string }> };
    const sections = read("docs/reference/api.md").split(/^## /m).slice(1);
    const described = new Map(
      sections.map((text) => [
        text.split("\n", 1)[0],
        [...text.matchAll(/^\*\*`([\w$]+)`\*\* \([\w ]+\)\. \S/gm)].map(([, name]) => name),
      ]),
    );
    const api = new Map(apiOf(sources).map(({ entry, names }) => [entry, names]));
    const entries = Object.entries(exports).filter(([door]) => !door.endsWith(".json"));
    expect([...described.keys()]).toEqual(entries.map(([door]) => path.posix.join("amends", door)));
    for (const [door, { types = "" }] of entries) {
      const names = api.get(types.replace("./dist/", "src/").replace(".d.ts", ".ts")) ?? [];
      expect([door, described.get(path.posix.join("amends", door))?.toSorted()]).toEqual([
        door,
        names.toSorted(),
      ]);
    }
  });

  it("[C-13] every error code that the sources throw has a row that says what happened and what to do", () => {
    const thrown = sources.flatMap(({ text }) =>
      [...text.matchAll(/new AmendsError\(\s*"([A-Z_]+)"/g)].map(([, code = ""]) => code),
    );
    const rows = [...read("docs/reference/errors.md").matchAll(/^\| `([A-Z_]+)` \| \S.+ \| \S.+ \|$/gm)];
    expect(rows.map(([, code = ""]) => code)).toEqual(expect.arrayContaining([...new Set(thrown)]));
  });

  it("[C-13] every label that Amends gives to a failure of a saga has a row", () => {
    const given = sources
      .filter(({ file }) => /^src\/(core\/saga|sagas)\//.test(file))
      .flatMap(({ text }) =>
        [...text.matchAll(/(?:unfit\((?:command, )?|label: |label = )"([A-Z][A-Za-z]+)"/g)].map(
          ([, label = ""]) => label,
        ),
      );
    const rows = [...read("docs/reference/errors.md").matchAll(/^\| `([A-Z][a-z]\w+)` \| \S.+ \|$/gm)];
    expect(rows.map(([, label = ""]) => label)).toEqual(Object.keys(FAILURE_LABELS));
    expect(new Set(given)).toEqual(new Set(Object.keys(FAILURE_LABELS)));
  });

  it("[C-13] the reference names exactly the codes that are retried inside an act", () => {
    const codes = errorCodes(sources).map(({ code }) => code as ErrorCode);
    const passing = codes.filter((code) => classify(new AmendsError(code, "")) === "transient");
    const [, sentence = ""] = /^(.+) can pass by themselves:/m.exec(read("docs/reference/errors.md")) ?? [];
    const named = [...sentence.matchAll(/`(\w+)`/g)].map(([, code]) => code);
    expect(new Set(named)).toEqual(new Set(passing));
  });
});
