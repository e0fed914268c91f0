/** The guide's reference is what the table of commands says, and its text speaks of no command that there is not. */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { COMMANDS } from "../../src/cli/program/commands.ts";
import { reference } from "../../src/cli/program/help.ts";
import { root } from "../../tools/project.mjs";

const file = path.join(root, "docs", "guides", "cli.md");
const PLACE = /(<!-- reference: begin [^\n]*-->\n)([\s\S]*?)(<!-- reference: end -->)/;

it("[P-03] the guide has every command as its help describes it", () => {
  const expected = `\n${reference(COMMANDS)}\n`;
  if (process.env["AMENDS_WRITE"]) {
    const before = readFileSync(file, "utf8");
    writeFileSync(
      file,
      before.replace(PLACE, (_, begin: string, _old, end: string) => `${begin}${expected}${end}`),
    );
  }
  expect(PLACE.exec(readFileSync(file, "utf8"))?.[2]).toBe(expected);
});

it("[P-03] the guide and the README name only commands that there are", () => {
  const names = new Set(COMMANDS.map(({ name }) => name));
  for (const page of [file, path.join(root, "README.md")]) {
    const used = [...readFileSync(page, "utf8").matchAll(/(?:^|\$ |npx |`)amends ([a-z]+)\b/gm)].map(
      ([, name]) => name as string,
    );
    expect(used.length).toBeGreaterThan(3);
    expect(used.filter((name) => !names.has(name))).toEqual([]);
  }
});
