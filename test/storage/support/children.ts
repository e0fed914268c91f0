/** Child processes that run a compiled script. */
import { fork, type ChildProcess } from "node:child_process";
import { compiledScript } from "../../support/built.ts";

/** `source` is named from the project's root. */
export async function forkCompiled(source: string, args: readonly string[]): Promise<ChildProcess> {
  return fork(await compiledScript(source), args, { execArgv: [] });
}

const CLAIMER = "test/storage/support/claimer.ts";

export interface Claimer {
  readonly ready: Promise<void>;
  go(): Promise<readonly string[]>;
}

export async function startClaimer(name: string, place: string, owner: string): Promise<Claimer> {
  const child = await forkCompiled(CLAIMER, [name, place, owner]);
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
    // The channel ends after its last message; the exit of a child may be known before.
    child.once("disconnect", () => reject(new Error(`the child ended with ${String(child.exitCode)}`)));
  });
}
