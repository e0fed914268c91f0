/** Every test that docs/webhooks-rules.md names exists, and its picture is what the code draws. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { ERROR_CODES } from "../../src/core/delivery/error-code.ts";
import { deliveryMachine } from "../../src/core/delivery/machine.ts";
import { machineDiagram } from "../../src/core/machine.ts";
import { root } from "../../tools/project.mjs";
import { CORPUS } from "../webhooks/http/support/ssrf-corpus.ts";

const read = (file: string): string => readFileSync(path.join(root, file), "utf8");

it("the rules of the delivery saga name tests that exist", () => {
  const rows = [...read("docs/webhooks-rules.md").matchAll(/^\| [\d., ]+ \| .+ \| `([^`]+)`: (.+) \|$/gm)];
  expect(rows.length).toBeGreaterThan(20);
  const missing = rows.filter(([, file = "", title = ""]) => {
    // Titles may stand on several lines of a template, or have a placeholder at their beginning or end.
    const text = read(file).replaceAll(/\s+/g, " ");
    return !text.includes(title);
  });
  expect(missing.map(([row]) => row)).toEqual([]);
});

it("the guide shows the machine of deliveries as its table draws it", () => {
  expect(read("docs/guides/webhooks.md")).toContain(machineDiagram(deliveryMachine));
});

it("the guide lists every error code of a delivery with its meaning", () => {
  const rows = [...read("docs/guides/webhooks.md").matchAll(/^\| `(\w+)` \| (.+) \|$/gm)];
  const listed = rows.map(([, code, meaning]) => [code, meaning]);
  expect(listed).toEqual(expect.arrayContaining(Object.entries(ERROR_CODES)));
});

it("[W-08] every code with which the sender refuses a target is one of the error codes of a delivery", () => {
  const refused = new Set(CORPUS.map(({ code }) => code));
  expect([...refused].filter((code) => !Object.hasOwn(ERROR_CODES, code))).toEqual([]);
  expect(refused.size).toBeGreaterThan(4);
});
