/** The guide to processes shows the code of examples/order-process, its definition as the library draws it, and what it prints. */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { sagaDiagram } from "amends/sagas";
import { expect, it } from "vitest";
import { placeOrder } from "../../examples/order-process/sagas.ts";
import { Shop } from "../../examples/order-process/shop.ts";
import { root } from "../../tools/project.mjs";
import { runExample } from "../examples/run-program.ts";
import { codeBlocks } from "./markdown.ts";

const name = "docs/guides/processes.md";
const file = path.join(root, name);
const read = (): string => readFileSync(file, "utf8");

/** A block of the guide. With AMENDS_WRITE it is renewed first. */
function block(place: RegExp, expected: string): string | undefined {
  if (process.env["AMENDS_WRITE"])
    writeFileSync(
      file,
      read().replace(place, (_, begin: string, _old, end: string) => `${begin}${expected}${end}`),
    );
  return place.exec(read())?.[2];
}

it("[S-31] the guide shows the order process as the library draws its definition", () => {
  const expected = sagaDiagram(placeOrder(new Shop()));
  expect(block(/(^```mermaid\n)([\s\S]*?)(^```$)/m, expected)).toBe(expected);
});

it("[S-26][S-33][S-34][S-35][S-37][S-46] the definitions in the guide are those of the example", () => {
  const sagas = readFileSync(path.join(root, "examples", "order-process", "sagas.ts"), "utf8");
  const text = read();
  const start = text.slice(0, text.indexOf("## An order process")).split("\n").length;
  const blocks = codeBlocks({ name, text }).filter(({ line }) => line > start);
  const exported = blocks.filter(({ code }) => code.startsWith("export "));
  expect(exported.map(({ code }) => sagas.includes(code.trimEnd()))).toEqual([true, true, true]);
});

it("[S-36] the guide shows what the order process prints", async () => {
  const { code, output } = await runExample("examples/order-process/main.ts");
  expect(block(/(^```text\n)([\s\S]*?)(^```$)/m, output)).toBe(output);
  expect(code).toBe(0);
});

it("the reference of sagas lists every option", () => {
  const reference = readFileSync(path.join(root, "docs", "guides", "sagas-reference.md"), "utf8");
  const [, listed = ""] = /^## All options\n([\s\S]*?)^## /m.exec(reference) ?? [];
  const api = readFileSync(path.join(root, "docs", "reference", "api.md"), "utf8");
  const missing = OPTIONS.flatMap((type) => {
    const [, members = ""] =
      new RegExp(`^\\*\\*\`${type}\`\\*\\* .*\\n\\n((?:- .*\\n)+)`, "m").exec(api) ?? [];
    const names = [...members.matchAll(/^- `(\w+)`/gm)].map(([, member = ""]) => member);
    if (names.length === 0) return [`${type} is not in the API reference`];
    return names.filter((member) => !listed.includes(`\`${member}\``)).map((member) => `${type}: ${member}`);
  });
  expect(missing).toEqual([]);
});

/** The types of options, by their names in the API reference. */
const OPTIONS = [
  "SagaOptions",
  "StepOptions",
  "FallbackTerms",
  "BreakerOptions",
  "ParallelOptions",
  "EachOptions",
  "ChildOptions",
  "SignalWait",
  "EventWait",
  "AnyWait",
  "EndInTransaction",
  "EndCall",
  "StalledCall",
  "StartOptions",
  "StartItem",
  "WorkerOptions",
  "RunOnceOptions",
  "StopOptions",
];
