/** The package as it would be published, used in an empty project. `npm run package-check` also installs it with npm. */
import { existsSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { buildPackage } from "../../tools/build.mjs";
import { packageCheck } from "../../tools/package-check.mjs";
import { root } from "../../tools/project.mjs";

/** `npm test` has built it; whoever runs vitest alone may not have. */
async function built(): Promise<void> {
  const main = path.join(root, "dist", "cli", "main.js");
  const page = path.join(root, "dist", "console-assets", "index.html");
  const sources = readdirSync(path.join(root, "src"), { recursive: true, encoding: "utf8" });
  const newest = Math.max(...sources.map((name) => statSync(path.join(root, "src", name)).mtimeMs));
  if (existsSync(page) && existsSync(main) && statSync(main).mtimeMs >= newest) return;
  expect(await buildPackage()).toMatchObject({ ok: true });
}

it(
  "[P-03] the packed package works in an empty project: every entry, init, dev, the types",
  { timeout: 180_000 },
  async () => {
    await built();
    await expect(
      packageCheck({
        nodes: [process.execPath],
        linked: true,
        tsx: false,
        built: true,
        keep: false,
        quiet: true,
      }),
    ).resolves.toBeUndefined();
  },
);
