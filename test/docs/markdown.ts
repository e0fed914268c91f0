/** The project's Markdown, and what the tests look for in it. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { root } from "../../tools/project.mjs";

export interface Page {
  /** From the project's root, with forward slashes. */
  readonly name: string;
  readonly text: string;
}

export interface Block {
  readonly page: string;
  readonly line: number;
  readonly code: string;
  /** The block with what its page declares for it, so that it compiles by itself. */
  readonly module: string;
}

export function pages(): readonly Page[] {
  const docs = readdirSync(path.join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name.split(path.sep).join("/")}`);
  const names = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "examples/README.md",
    ...docs.toSorted(),
  ];
  return names.map((name) => ({ name, text: readFileSync(path.join(root, name), "utf8") }));
}

/**
 * The TypeScript blocks of a page. A block that imports something stands by itself; any other one follows on the last
 * `<!-- context … -->` comment above it, which readers do not see.
 */
export function codeBlocks({ name, text }: Page): readonly Block[] {
  const blocks: Block[] = [];
  let context = "";
  for (const match of text.matchAll(/^<!-- context\n([\s\S]*?)^-->$|^```ts\n([\s\S]*?)^```$/gm)) {
    const [, declared, code] = match;
    if (declared !== undefined) context = declared;
    if (code === undefined) continue;
    const line = text.slice(0, match.index).split("\n").length;
    const isWhole = /^import /m.test(code);
    blocks.push({ page: name, line, code, module: isWhole ? code : `${context}\n${code}\nexport {};\n` });
  }
  return blocks;
}

/** Where a page's links lead to, those to other sites left out. */
export function links({ text }: Page): readonly string[] {
  const prose = text.replaceAll(/^```[\s\S]*?^```$/gm, "").replaceAll(/`[^`\n]*`/g, "");
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target]) => target as string)
    .filter((target) => !/^[a-z]+:/.test(target));
}

/** The anchors that a page's headings make. */
export function anchors({ text }: Page): ReadonlySet<string> {
  const prose = text.replaceAll(/^```[\s\S]*?^```$/gm, "");
  const headings = [...prose.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading as string);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, "")
        .replaceAll(" ", "-"),
    ),
  );
}
