/** Child processes from what was built. `npm test` builds first; whoever runs vitest alone may be ahead of the build. */
import { fork, type ChildProcess } from "node:child_process";
import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { buildTests } from "../../../tools/build.mjs";

const root = new URL("../../../", import.meta.url);

export async function ensureBuilt(script: string): Promise<void> {
  const modified = (path: string): number =>
    statSync(new URL(path, root), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (modified(`build/${script}.js`) >= modified(`${script}.ts`)) return;
  const outcome = await buildTests();
  if (!outcome.ok) throw new Error(outcome.output);
}

/** A process that runs what was built of a script under test/. */
export function forkBuilt(script: string, args: readonly string[]): ChildProcess {
  return fork(fileURLToPath(new URL(`build/${script}.js`, root)), args, { execArgv: [] });
}

export const CLAIMER = "test/storage/support/claimer";

export interface Claimer {
  readonly ready: Promise<void>;
  go(): Promise<readonly string[]>;
}

export function startClaimer(name: string, place: string, owner: string): Claimer {
  const child = forkBuilt(CLAIMER, [name, place, owner]);
  return {
    ready: message(child).then(() => undefined),
    go() {
      const answer = message(child);
      child.send("go");
      return answer as Promise<readonly string[]>;
    },
  };
}

export function message(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    child.once("message", resolve);
    child.once("exit", (code) => reject(new Error(`the child ended with ${String(code)}`)));
  });
}
