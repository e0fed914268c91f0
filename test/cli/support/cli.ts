/** The command line in this very process, with what it wrote; and as a process of its own, built from these sources. */
import { spawn, type ChildProcess } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { expect } from "vitest";
import { run } from "../../../src/cli/program/run.ts";
import type { Terminal } from "../../../src/cli/program/world.ts";
import { buildTests } from "../../../tools/build.mjs";
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

let fresh: Promise<string> | undefined;

/** The compiled program; built anew where a source is newer. */
export function program(): Promise<string> {
  fresh ??= (async () => {
    const script = path.join(root, "build", "src", "cli", "main.js");
    const sources = readdirSync(path.join(root, "src"), { recursive: true, encoding: "utf8" });
    const newest = Math.max(...sources.map((name) => statSync(path.join(root, "src", name)).mtimeMs));
    if (!existsSync(script) || statSync(script).mtimeMs < newest) await buildTests();
    return script;
  })();
  return fresh;
}

/** A folder in which `amends` is installed: what was built from these sources. */
export function project(files: Readonly<Record<string, string>> = {}): string {
  const parent = path.join(root, "build", "projects");
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(path.join(parent, "p-"));
  mkdirSync(path.join(folder, "node_modules"));
  symlinkSync(path.join(root, "build"), path.join(folder, "node_modules", "amends"), "dir");
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
  return folder;
}

export function forget(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}

export interface Running {
  readonly child: ChildProcess;
  /** Resolves with the match once the output has it. */
  seen(pattern: RegExp): Promise<RegExpExecArray>;
  readonly text: () => string;
  ended(): Promise<Ran>;
}

/** Started, and not waited for. */
export async function started(
  argv: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Running> {
  const script = await program();
  const { DATABASE_URL: _database, AMENDS_TOKEN: _token, AMENDS_CONSOLE: _console, ...own } = process.env;
  const child = spawn(process.execPath, [script, ...argv], {
    cwd,
    env: { ...own, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [out, err, all] = ["", "", ""];
  let look: () => void = () => undefined;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
    all += text;
    look();
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err += text;
    all += text;
    look();
  });
  const gone = new Promise<Ran>((resolve) => {
    child.once("close", (code) => {
      resolve({ code: code ?? -1, out, err });
      look();
    });
  });
  return {
    child,
    text: () => all,
    ended: () => gone,
    seen: (pattern) =>
      new Promise((resolve, reject) => {
        look = () => {
          const match = pattern.exec(all);
          if (match) resolve(match);
          else if (child.exitCode !== null) reject(new Error(`It ended without ${String(pattern)}:\n${all}`));
        };
        look();
      }),
  };
}

export async function processOf(
  argv: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  return (await started(argv, cwd, env)).ended();
}
