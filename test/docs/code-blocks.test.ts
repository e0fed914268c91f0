/** The TypeScript in the README and in the guides compiles, and the README's first program runs as it stands. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { program, root } from "../../tools/project.mjs";
import { runProgram } from "../examples/run-program.ts";
import { compiled } from "../support/built.ts";
import { codeBlocks, pages } from "./markdown.ts";

const folder = path.join(root, "build", "docs-blocks");

it("every TypeScript block in the docs compiles", { timeout: 120_000 }, async () => {
  // The blocks about clients are compiled where the clients are installed (test/clients), and those about Restate
  // where its SDK is (test/restate). Those about frameworks are code of examples/frameworks (frameworks-guide.test.ts).
  const elsewhere = ["docs/guides/your-client.md", "docs/guides/frameworks.md", "docs/guides/restate.md"];
  const blocks = pages()
    .filter(({ name }) => !elsewhere.includes(name))
    .flatMap(codeBlocks);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const { page, line, code, module } of blocks) {
    // A block that begins with the name of a file can be imported by the blocks beside it.
    const [, file] = /^\/\/ ([\w.-]+\.ts)\n/.exec(code) ?? [];
    if (file !== undefined) writeFileSync(path.join(folder, file), module);
    writeFileSync(path.join(folder, `${page.replaceAll("/", "-").replace(/\.md$/, "")}-${line}.ts`), module);
  }
  const config = {
    extends: "../../tsconfig.json",
    compilerOptions: { noUnusedLocals: false, noUnusedParameters: false },
    include: ["*.ts"],
  };
  writeFileSync(path.join(folder, "tsconfig.json"), JSON.stringify(config));
  expect(blocks.length).toBeGreaterThan(10);
  expect(await program("tsc", ["-p", path.join(folder, "tsconfig.json")])).toEqual({ ok: true, output: "" });
});

it("the README's first program runs as it stands, and finds its sagas again the second time", async () => {
  const [readme] = pages();
  const [first] = readme ? codeBlocks(readme) : [];
  await compiled();
  mkdirSync(folder, { recursive: true });
  const script = path.join(folder, "first.mjs");
  writeFileSync(script, first?.code ?? "");
  const data = emptyFolder("data");
  const once = await runProgram(script, [], {}, data);
  expect(once.output).toContain("reserve tea, under the key order-1:reserve:act\n");
  expect(once.output).toContain("email act COMPLETED\n");
  expect(once.output).toContain("release what was reserved under order-2:reserve:act\n");
  expect(once.output).toMatch(/status: 'FAILED'[\s\S]*step: 'charge'/);
  expect(once.code).toBe(0);
  const twice = await runProgram(script, [], {}, data);
  expect(twice.output).not.toContain("reserve tea");
  expect(twice.output).toMatch(/status: 'COMPLETED'[\s\S]*status: 'FAILED'/);
  expect(twice.code).toBe(0);
});

it("[F-01][F-06] the README's event flow runs as it stands", async () => {
  const [readme] = pages();
  const flow = (readme ? codeBlocks(readme) : []).find(({ code }) => code.includes("eventSaga("));
  await compiled();
  mkdirSync(folder, { recursive: true });
  const script = path.join(folder, "flow.mjs");
  writeFileSync(script, flow?.code ?? "");
  expect(await runProgram(script, [], {}, emptyFolder("flow-data"))).toMatchObject({
    output: "completed\n",
    code: 0,
  });
});

/** Inside build/, `amends` means what was built from these sources. */
function emptyFolder(name: string): string {
  const data = path.join(folder, name);
  rmSync(data, { recursive: true, force: true });
  mkdirSync(data, { recursive: true });
  return data;
}
