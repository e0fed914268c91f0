/**
 * Loaders of TypeScript turn the files of a project without `"type": "module"` into CommonJS, and fail where these and ES
 * modules import one another. Their messages name internals, some of them whole files as `data:` URLs.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Trouble } from "../program/failure.ts";

const SIGNS =
  /Cannot require\(\) ES Module|require\(\) of ES Module|data:text\/javascript|import statement outside a module|Unexpected token 'export'/;

/** Whether the message of an error comes from such a mix. */
export function mixesModules(message: string, file: string): boolean {
  return SIGNS.test(message) && !isModuleProject(file);
}

export function noModule(shown: string, cause: unknown): Trouble {
  return new Trouble(
    "CONFIG_BROKEN",
    `${shown} cannot be loaded. This project has no "type": "module".`,
    "Add it to package.json, or name the file amends.config.mts and import with file extensions.",
    { cause },
  );
}

/** As Node.js decides: by the nearest package.json. */
function isModuleProject(file: string): boolean {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const manifest = join(folder, "package.json");
    if (existsSync(manifest))
      return (JSON.parse(readFileSync(manifest, "utf8")) as { type?: unknown }).type === "module";
    if (folder === dirname(folder)) return false;
  }
}
