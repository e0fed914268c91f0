/** docs/guides/frameworks.md shows the code of the services in examples/frameworks, which `npm run frameworks` compiles and runs. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { root } from "../../tools/project.mjs";
import { codeBlocks, pages } from "./markdown.ts";

const folder = path.join(root, "examples", "frameworks");

function sources(): ReadonlyMap<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => name.split(path.sep).join("/"))
    .filter((name) => /\.tsx?$/.test(name) && !/node_modules|\/dist\/|\/\.next\//.test(name));
  return new Map(names.map((name) => [name, readFileSync(path.join(folder, name), "utf8")]));
}

it("[C-10] every block of the guide is code of a service", () => {
  const texts = [...sources().values()];
  const guide = pages().find(({ name }) => name === "docs/guides/frameworks.md");
  const blocks = guide ? codeBlocks(guide) : [];
  const foreign = blocks.filter(({ code }) => !texts.some((text) => text.includes(code.trimEnd())));
  expect(foreign.map(({ line, code }) => `line ${line}: ${code.split("\n")[0]}`)).toEqual([]);
  expect(blocks.length).toBeGreaterThan(10);
});

it("[C-10] services that show the same saga have the same file", () => {
  const found = sources();
  for (const name of ["express/src", "fastify/src", "next/lib"])
    expect(found.get(`${name}/place-order.ts`)).toBe(found.get("hono/src/place-order.ts"));
  for (const name of ["express/src", "fastify/src"])
    expect(found.get(`${name}/shop.ts`)).toBe(found.get("hono/src/shop.ts"));
});
