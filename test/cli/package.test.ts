/** The package as it would be published, used in an empty project. `npm run package-check` also installs it with npm. */
import { expect, it } from "vitest";
import { packageCheck } from "../../tools/package-check.mjs";
import { builtPackage } from "../support/built.ts";

it(
  "[P-03][C-13] the packed package works in an empty project: every entry, init, dev, the types under every resolution and in declarations, links, publint",
  { timeout: 180_000 },
  async () => {
    await builtPackage();
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
