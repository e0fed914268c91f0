/**
 * What child processes, a packed package and a browser run: built from the sources as they are now. The first test that
 * asks has it built, and others wait for that; a test that does not ask needs no build.
 */
import path from "node:path";
import { buildConsole, buildPackage, buildTests, consoleAssets } from "../../tools/build.mjs";
import { root, type Outcome } from "../../tools/project.mjs";

/** The folder with everything compiled. Inside it, `import "amends"` means these sources. */
export const compiled: () => Promise<string> = once(buildTests, path.join(root, "build"));

/** The folder of the package as it is published. */
export const builtPackage: () => Promise<string> = once(buildPackage, path.join(root, "dist"));

/** The folder with the console's pages. */
export const builtConsole: () => Promise<string> = once(buildConsole, consoleAssets);

/** The compiled script of a source, which is named from the project's root. */
export async function compiledScript(source: string): Promise<string> {
  return path.join(await compiled(), source.replace(/\.ts$/, ".js"));
}

/** A process of Vitest lives for one run at most: within it, what was built once is fresh. */
function once(build: () => Promise<Outcome>, folder: string): () => Promise<string> {
  let made: Promise<string> | undefined;
  return () =>
    (made ??= build().then(({ ok, output }) => {
      if (!ok) throw new Error(output);
      return folder;
    }));
}
