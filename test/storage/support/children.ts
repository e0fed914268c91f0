/** Child processes from what was built. `npm test` builds first; whoever runs vitest alone may be ahead of the build. */
import { fork, type ChildProcess } from "node:child_process";
import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { buildTests } from "../../../tools/build.mjs";

const script = "test/storage/support/claimer";
const root = new URL("../../../", import.meta.url);

export async function ensureClaimer(): Promise<void> {
  const modified = (path: string): number =>
    statSync(new URL(path, root), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (modified(`build/${script}.js`) >= modified(`${script}.ts`)) return;
  const outcome = await buildTests();
  if (!outcome.ok) throw new Error(outcome.output);
}

export interface Claimer {
  readonly ready: Promise<void>;
  go(): Promise<readonly string[]>;
}

export function startClaimer(name: string, place: string, owner: string): Claimer {
  const child = fork(fileURLToPath(new URL(`build/${script}.js`, root)), [name, place, owner], {
    execArgv: [],
  });
  return {
    ready: message(child).then(() => undefined),
    go() {
      const answer = message(child);
      child.send("go");
      return answer as Promise<readonly string[]>;
    },
  };
}

function message(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    child.once("message", resolve);
    child.once("exit", (code) => reject(new Error(`the child ended with ${String(code)}`)));
  });
}
