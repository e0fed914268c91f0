/** The command line as a process of its own, built from these sources, in a project that has it installed. */
import { spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { compiled, compiledScript } from "../../support/built.ts";
import type { Ran } from "./cli.ts";

/** A folder in which `amends` is installed: what was built from these sources. */
export async function project(files: Readonly<Record<string, string>> = {}): Promise<string> {
  const build = await compiled();
  const parent = path.join(build, "projects");
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(path.join(parent, "p-"));
  mkdirSync(path.join(folder, "node_modules"));
  symlinkSync(build, path.join(folder, "node_modules", "amends"), "dir");
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
  const script = await compiledScript("src/cli/main.ts");
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
