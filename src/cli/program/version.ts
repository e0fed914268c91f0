/** Which package this is, and where. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

interface Manifest {
  readonly name?: string;
  readonly version?: string;
}

/** The folder with our package.json: some levels up, as many as the build has put between. */
export function ownFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (manifestOf(folder)?.version === undefined) {
    const above = dirname(folder);
    if (above === folder) return folder;
    folder = above;
  }
  return folder;
}

export function ownVersion(): string {
  return manifestOf(ownFolder())?.version ?? "";
}

function manifestOf(folder: string): Manifest | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
  } catch {
    return undefined;
  }
}
