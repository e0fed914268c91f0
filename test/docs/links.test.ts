/** Whoever follows a link in the docs arrives somewhere. */
import { existsSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { root } from "../../tools/project.mjs";
import { anchors, links, pages } from "./markdown.ts";

it("links between the docs lead to files and headings that exist", () => {
  const all = pages();
  const broken = all.flatMap((page) =>
    links(page)
      .filter((link) => {
        const [file = "", anchor] = link.split("#");
        const target = file === "" ? page.name : path.posix.join(path.posix.dirname(page.name), file);
        if (!existsSync(path.join(root, target))) return true;
        const linked = all.find(({ name }) => name === target);
        return anchor !== undefined && linked !== undefined && !anchors(linked).has(anchor);
      })
      .map((link) => `${page.name}: ${link}`),
  );
  expect(broken).toEqual([]);
});
