/**
 * Watches the files of the project: each folder separately, except folders with generated files. Several changes at
 * once, such as a save or a checkout, are reported as one.
 */
import { readdirSync, statSync, watch as watchFolder, type FSWatcher } from "node:fs";
import { join } from "node:path";

const SKIPPED: ReadonlySet<string> = new Set(["node_modules", "dist", "build", "coverage", "out", "tmp"]);
const WATCHED = /\.(?:[cm]?[jt]sx?|json)$|^\.env/;
const FOLDERS_MAX = 2_000;
const QUIET_MS = 120;

export interface Watch {
  close(): void;
}

/** `onChange` gets one of the changed files. */
export function watchProject(root: string, onChange: (file: string) => void): Watch {
  const watchers = new Map<string, FSWatcher>();
  let timer: NodeJS.Timeout | undefined;
  let changed = "";
  const tell = (file: string): void => {
    changed = file;
    clearTimeout(timer);
    timer = setTimeout(() => onChange(changed), QUIET_MS);
  };
  const add = (folder: string): void => {
    for (const one of foldersIn(folder)) {
      if (watchers.has(one) || watchers.size >= FOLDERS_MAX) continue;
      const watcher = watchFolder(one, (_event, name) => {
        if (name === null) return;
        const path = join(one, name);
        if (WATCHED.test(name)) tell(path);
        // The files of a new folder were not watched until now.
        else if (isFolder(path) && !isSkipped(name)) {
          add(path);
          tell(path);
        }
      });
      watcher.on("error", () => {
        watcher.close();
        watchers.delete(one);
      });
      watchers.set(one, watcher);
    }
  };
  add(root);
  return {
    close: () => {
      clearTimeout(timer);
      for (const watcher of watchers.values()) watcher.close();
      watchers.clear();
    },
  };
}

function foldersIn(folder: string): readonly string[] {
  const found = [folder];
  for (const one of found) {
    if (found.length >= FOLDERS_MAX) break;
    try {
      const entries = readdirSync(one, { withFileTypes: true });
      found.push(
        ...entries
          .filter((entry) => entry.isDirectory() && !isSkipped(entry.name))
          .map(({ name }) => join(one, name)),
      );
    } catch {
      // It went away in this very moment, or is not ours to read.
    }
  }
  return found;
}

function isSkipped(name: string): boolean {
  return name.startsWith(".") || SKIPPED.has(name);
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
