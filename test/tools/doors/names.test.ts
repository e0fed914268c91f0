import { describe, expect, it } from "vitest";
import { check } from "../support/fake-project.ts";

const many = (folder: string, count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${folder}/file-${index}.ts`, ""]));

describe("files", () => {
  it("have names that say something, and are not long", () => {
    const found = check({
      "src/index.ts": "",
      "src/core/a.ts": "export const a = 1;\n".repeat(401),
      "src/core/b.ts": "export const a = 1;\n".repeat(400),
      "src/core/utils.ts": "",
      "src/core/index.ts": "",
    });
    expect(found).toEqual([
      "src/core/a.ts:401 401 lines; split it by statement or by phase (at most 400)",
      'src/core/index.ts:1 "index" says nothing about what the file holds',
      'src/core/utils.ts:1 "utils" says nothing about what the file holds',
    ]);
  });

  it("do not begin with the name of the room or the folder that they are in", () => {
    const found = check({
      "src/console/console.ts": "",
      "src/console/consoles.ts": "",
      "src/console/console-page.ts": "",
      "src/console/http/console-body.ts": "",
      "src/console/http/http-answer.ts": "",
      "src/console/http/http.ts": "",
      "src/outbox/console-view.ts": "",
      "test/console/console-page.test.ts": "",
    });
    expect(found).toEqual([
      'src/console/console-page.ts:1 the folder is named "console" already; name the file page.ts',
      'src/console/http/console-body.ts:1 the folder is named "console" already; name the file body.ts',
      'src/console/http/http-answer.ts:1 the folder is named "http" already; name the file answer.ts',
    ]);
  });
});

describe("folders", () => {
  it("hold at most so many files, sub-folders not counted", () => {
    const found = check(
      {
        ...many("src/core", 3),
        ...many("src/core/saga", 3),
        ...many("src/outbox", 4),
        ...many("test/crash/scenarios", 4),
        ...many("test/outbox", 4),
        "src/core/read-me.txt": "",
      },
      { filesMax: 3 },
    );
    expect(found).toEqual([
      "src/outbox:1 4 files in one folder; divide it by concept (at most 3)",
      "test/crash/scenarios:1 4 files in one folder; divide it by concept (at most 3)",
    ]);
  });
});
