/** Links of the packed pages: what a registry or a reader of node_modules follows leads somewhere. */
import { expect, it } from "vitest";
import { deadLinks } from "../../tools/package-lint.mjs";

const dead = (pages: Readonly<Record<string, string>>): readonly string[] =>
  deadLinks(Object.keys(pages), (name) => pages[name] ?? "");

it("[C-13] a link or a picture of the README that the package does not contain is found", () => {
  const readme =
    "![p](docs/p.png) [a](docs/a.md#top) [b](docs/b.md) [c](test/c.ts) [d](docs/) [e](https://e.example) [f](#f)";
  expect(dead({ "README.md": readme, "docs/a.md": "" })).toEqual([
    "README.md: docs/p.png is not in the package",
    "README.md: docs/b.md is not in the package",
    "README.md: test/c.ts is not in the package",
  ]);
});

it("[C-13] other pages may name sources and tests, which only a clone has, and nothing else that is missing", () => {
  const page = "[test](../test/a.test.ts) [gone](guides/gone.md) [up](../README.md) `[code](x.md)`";
  expect(dead({ "README.md": "", "docs/a.md": page })).toEqual([
    "docs/a.md: guides/gone.md is not in the package",
  ]);
});
