/** The guide about Restate compiles where its SDK is installed. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { program, root } from "../../tools/project.mjs";
import { codeBlocks, pages } from "../docs/markdown.ts";

const folder = path.join(root, "test", "restate", "build");

it("[R-04] every TypeScript block of the guide about Restate compiles with its SDK", async () => {
  const blocks = pages()
    .filter(({ name }) => name === "docs/guides/restate.md")
    .flatMap(codeBlocks);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const { line, code, module } of blocks) {
    const [, file] = /^\/\/ ([\w.-]+\.ts)\n/.exec(code) ?? [];
    writeFileSync(path.join(folder, file ?? `line-${line}.ts`), module);
  }
  const config = {
    extends: "../tsconfig.json",
    compilerOptions: { noUnusedLocals: false },
    include: ["*.ts"],
    exclude: [],
  };
  writeFileSync(path.join(folder, "tsconfig.json"), JSON.stringify(config));
  expect(blocks.length).toBe(4);
  expect(await program("tsc", ["-p", path.join(folder, "tsconfig.json")])).toEqual({ ok: true, output: "" });
});
