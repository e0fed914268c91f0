/** The programs of the guide to erasure run as they stand, and print what the guide says. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../../tools/project.mjs";
import { runProgram, type Ran } from "../examples/run-program.ts";
import { compiled } from "../support/built.ts";
import { codeBlocks, pages } from "./markdown.ts";

const folder = path.join(root, "build", "docs-erasure");

/** The n-th program of the page that prints something. */
async function run(at: number): Promise<Ran> {
  const page = pages().find(({ name }) => name === "docs/guides/erasure.md");
  const programs = page ? codeBlocks(page).filter(({ code }) => code.includes("console.log")) : [];
  await compiled();
  mkdirSync(folder, { recursive: true });
  // Inside build/, `amends` means what was built from these sources.
  const script = path.join(folder, `program-${at}.mjs`);
  writeFileSync(script, programs[at]?.code ?? "throw new Error('no such program')");
  const data = path.join(folder, `data-${at}`);
  rmSync(data, { recursive: true, force: true });
  mkdirSync(data, { recursive: true });
  return runProgram(script, [], {}, data);
}

describe("sqlite", () => {
  it("[E-02][E-03] the guide's first program erases a person and leaves the other", async () => {
    const { code, output } = await run(0);
    expect(output).toContain("{ messages: 1 } { users: 1 }\n");
    expect(output).toMatch(/name: 'erased',\s+joined_on: '2024-05-01'/);
    expect(output).toContain("ERASURE_REQUESTED\nERASURE_LOCAL_COMPLETED\nERASURE_COMPLETED\n");
    expect(code).toBe(0);
  });

  it("[E-04][E-11] the guide's month passes, and the erasure is complete in the end", async () => {
    const { code, output } = await run(1);
    expect(output).toBe(
      [
        "abandoned: newsletter, SystemDown",
        "abandoned-entry for u-1: newsletter did not erase: SystemDown, 3 attempts",
        "overdue-erasure newsletter is abandoned",
        "ERASURE_COMPLETED",
        "",
      ].join("\n"),
    );
    expect(code).toBe(0);
  });

  it("[E-08] the guide's correction reaches the tables and the other system", async () => {
    const { code, output } = await run(2);
    expect(output).toMatch(
      /email: 'ben@example\.org' \} \] \{ email: 'ben@example\.org' \}\nRECTIFICATION_COMPLETED\n/,
    );
    expect(code).toBe(0);
  });
});
