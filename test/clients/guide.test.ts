/** The guide about clients compiles where the clients are installed. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { program, root } from "../../tools/project.mjs";
import { codeBlocks, pages } from "../docs/markdown.ts";

const folder = path.join(root, "test", "clients", "build");

it("[C-01] every TypeScript block of the guide about clients compiles", async () => {
  const blocks = pages()
    .filter(({ name }) => name === "docs/guides/your-client.md")
    .flatMap(codeBlocks);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const { line, module } of blocks) writeFileSync(path.join(folder, `line-${line}.ts`), module);
  const config = {
    extends: "../tsconfig.json",
    compilerOptions: { noUnusedLocals: false, noUnusedParameters: false },
    include: ["*.ts"],
    exclude: [],
  };
  writeFileSync(path.join(folder, "tsconfig.json"), JSON.stringify(config));
  expect(blocks.length).toBeGreaterThan(10);
  expect(await program("tsc", ["-p", path.join(folder, "tsconfig.json")])).toEqual({ ok: true, output: "" });
});
