/**
 * The scripts of child processes, bundled from the compiled tests: a process that reads one file instead of 300 starts in a
 * third of the processor time, and the crash tests start hundreds. A bundle can have a bug patched into it.
 */
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build, type Plugin } from "vite";
import { root } from "../../../tools/project.mjs";
import { compiled } from "../../support/built.ts";

/** A piece of the compiled text of a source, and what takes its place. */
export interface Patch {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** What a test process started once, it starts again: the bundle without a bug is kept as long as the process lives. */
let usual: Promise<string> | undefined;

/** The folder with the bundled scripts, which are named as below test/crash. A build in the meantime does not change it. */
export function bundled(): Promise<string> {
  return (usual ??= bundle([
    "harness/crashing-process",
    "webhooks/crashing-process",
    "competing-processes/many-sagas-worker",
    "competing-processes/many-orders-worker",
    "schedules/ticking-worker",
  ]));
}

/** A bundle of the crashing process with bugs. If a patch fits nowhere, this throws: the bug would silently be none. */
export function bundledWith(patches: readonly Patch[]): Promise<string> {
  return bundle(["harness/crashing-process"], patches);
}

const folders: string[] = [];
process.once("exit", () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

async function bundle(scripts: readonly string[], patches: readonly Patch[] = []): Promise<string> {
  const from = await compiled();
  const outDir = mkdtempSync(join(tmpdir(), "amends-children-"));
  folders.push(outDir);
  // A module that was compiled for this machine stays where it is.
  symlinkSync(join(root, "node_modules"), join(outDir, "node_modules"), "junction");
  const input = Object.fromEntries(
    scripts.map((script) => [script, join(from, "test", "crash", `${script}.js`)]),
  );
  const output = { entryFileNames: "[name].mjs", chunkFileNames: "[name].mjs" };
  await build({
    configFile: false,
    root: from,
    logLevel: "warn",
    plugins: [patching(join(from, "src"), patches)],
    ssr: { noExternal: true, external: ["@photostructure/sqlite"], resolve: { conditions: ["node"] } },
    build: {
      ssr: true,
      target: "esnext",
      minify: false,
      outDir,
      emptyOutDir: false,
      rolldownOptions: { input, output, external: ["pg-native"] },
    },
  });
  return outDir;
}

function patching(folder: string, patches: readonly Patch[]): Plugin {
  const left = new Set(patches);
  return {
    name: "patches",
    transform(code, id) {
      let text = code;
      for (const patch of patches) {
        if (id !== join(folder, patch.file) || !text.includes(patch.from)) continue;
        text = text.replaceAll(patch.from, () => patch.to);
        left.delete(patch);
      }
      return text === code ? null : { code: text, map: null };
    },
    buildEnd(error) {
      if (error) return;
      for (const { file, from } of left) throw new Error(`${file} no longer contains: ${from}`);
    },
  };
}
