/** The first program of the guide for receivers runs as it stands. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { root } from "../../tools/project.mjs";
import { runProgram } from "../examples/run-program.ts";
import { compiled } from "../support/built.ts";
import { codeBlocks, pages } from "./markdown.ts";

it("[W-16] a receiver verifies, does the work once, and refuses what was changed (guide)", async () => {
  const page = pages().find(({ name }) => name === "docs/guides/webhooks-receiving.md");
  const [first] = page ? codeBlocks(page) : [];
  await compiled();
  // Inside build/, `amends` means what was built from these sources.
  const folder = path.join(root, "build", "docs-receiving");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const script = path.join(folder, "first.mjs");
  writeFileSync(script, first?.code ?? "");
  const { code, output } = await runProgram(script);
  expect(output).toBe(
    "order.placed o-1\n204\n204\nThe webhook is refused: no signature fits the body and the secrets.\n400\n",
  );
  expect(code).toBe(0);
});
