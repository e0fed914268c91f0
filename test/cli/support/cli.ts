/** The command line in this very process, with what it wrote. */
import path from "node:path";
import { expect } from "vitest";
import { run } from "../../../src/cli/program/run.ts";
import type { Terminal } from "../../../src/cli/program/world.ts";
import { root } from "../../../tools/project.mjs";

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface Surroundings {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly terminal?: Terminal;
  readonly stop?: AbortSignal;
  /** Told whatever has been written so far. */
  readonly onOut?: (out: string) => void;
}

const NEVER = new AbortController().signal;

export async function cli(argv: readonly string[], surroundings: Surroundings = {}): Promise<Ran> {
  const { env = {}, cwd = path.join(root, "test", "cli"), terminal, stop = NEVER, onOut } = surroundings;
  let [out, err] = ["", ""];
  const code = await run(argv, {
    env,
    cwd,
    terminal,
    stop,
    nowMs: () => Date.now(),
    out: (text) => {
      out += text;
      onOut?.(out);
    },
    err: (text) => void (err += text),
  });
  return { code, out, err };
}

/** The answer for programs of a command that must succeed. */
export async function json<T>(argv: readonly string[], code: number = 0): Promise<T> {
  const ran = await cli([...argv, "--json"]);
  expect([ran.code, ran.err]).toEqual([code, ""]);
  return JSON.parse(ran.out) as T;
}
