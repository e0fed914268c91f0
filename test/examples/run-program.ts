/** Runs a compiled program of the project in a process of its own, in an empty folder, as its user would. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { compiledScript } from "../support/built.ts";

export interface Ran {
  readonly code: number;
  readonly output: string;
}

/** Only ends a program that would hang. */
const LIMIT_MS = 60_000;

export async function runExample(
  source: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
  limitMs: number = LIMIT_MS,
): Promise<Ran> {
  return runProgram(await compiledScript(source), args, env, undefined, limitMs);
}

/** Without a folder of the caller's, in an empty one that is thrown away afterwards. */
export async function runProgram(
  script: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
  folder?: string,
  limitMs: number = LIMIT_MS,
): Promise<Ran> {
  const cwd = folder ?? mkdtempSync(path.join(tmpdir(), "amends-program-"));
  const options = { cwd, env: { ...process.env, ...env }, timeout: limitMs };
  const ran = await new Promise<Ran>((resolve) => {
    execFile(
      process.execPath,
      ["--enable-source-maps", script, ...args],
      options,
      (error, stdout, stderr) => {
        resolve({ code: error ? Number(error.code ?? -1) : 0, output: stdout + stderr });
      },
    );
  });
  if (folder === undefined) rmSync(cwd, { recursive: true, force: true });
  return ran;
}
