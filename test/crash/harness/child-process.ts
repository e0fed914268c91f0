/** Starts a child process from the compiled tests, collects its reports, and kills or wakes it. */
import { fork, type ChildProcess } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildTests } from "../../../tools/build.mjs";
import type { ChildInstructions, ChildReport } from "./child-messages.ts";

const projectRoot: string = fileURLToPath(new URL("../../..", import.meta.url));
const buildRoot: string = join(projectRoot, "build");

export interface Ended {
  readonly signal: NodeJS.Signals | null;
  readonly code: number | null;
  /** The text of its standard error. */
  readonly errors: string;
  /** It ran into the time limit and was killed by the harness. */
  readonly hung: boolean;
}

/** Only ends a process that hangs. */
const LIMIT_MS = 240_000;

/** After a failed test, children that still run are killed when the test process exits. */
const alive = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of alive) child.kill("SIGKILL");
});

export class Child {
  readonly reports: ChildReport[] = [];
  readonly ended: Promise<Ended>;
  /** Resolves when the child announces that it stops itself, or when it ends. */
  readonly stopped: Promise<void>;
  /** Resolves with the child's first report, or when it ends. */
  readonly reported: Promise<void>;
  readonly #process: ChildProcess;

  /** `root` is the folder of the compiled sources; `script` is a path below its test/crash. */
  constructor(root: string, script: string, instructions: unknown, limitMs: number = LIMIT_MS) {
    const child = fork(join(root, "test", "crash", script), [JSON.stringify(instructions)], {
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      execArgv: [],
    });
    this.#process = child;
    let errors = "";
    child.stderr?.on("data", (chunk: Buffer) => (errors += chunk.toString()));
    child.on("message", (report: ChildReport) => this.reports.push(report));
    alive.add(child);
    let hung = false;
    const watchdog = setTimeout(() => (hung = child.kill("SIGKILL")), limitMs);
    this.ended = new Promise((resolve) =>
      child.once("close", (code, signal) => {
        clearTimeout(watchdog);
        alive.delete(child);
        resolve({ code, signal, errors, hung });
      }),
    );
    this.reported = new Promise((resolve) => {
      child.once("message", () => resolve());
      child.once("close", () => resolve());
    });
    this.stopped = new Promise((resolve) => {
      child.stdout?.on("data", () => resolve());
      child.once("close", () => resolve());
    });
  }

  onReport(listener: (report: ChildReport) => void): void {
    this.#process.on("message", listener);
  }

  send(message: object): void {
    // A child that was killed in the meantime cannot receive the message.
    if (this.#process.connected) this.#process.send(message, () => undefined);
  }

  /** Sends SIGCONT until the child ends: it announces its stop a moment before it stops, and may miss the first signal. */
  async wake(): Promise<Ended> {
    const repeated = setInterval(() => this.kill("SIGCONT"), 50);
    return this.ended.finally(() => clearInterval(repeated));
  }

  kill(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }
}

/** Starts the crashing process, from a copy of the build with a bug in it if `root` is given. */
export async function startChild(instructions: ChildInstructions, root?: string): Promise<Child> {
  return new Child(root ?? (await compiled()), "harness/crashing-process.js", instructions);
}

let built: Promise<string> | undefined;

/** The folder of the compiled sources: a copy, so that a build in the meantime does not change a running test. */
export function compiled(): Promise<string> {
  built ??= ensureBuilt().then(() => copyBuild());
  return built;
}

const copies: string[] = [];

/** Copies what a child process needs of the build. */
export function copyBuild(): string {
  const root = mkdtempSync(join(tmpdir(), "amends-build-"));
  copies.push(root);
  for (const part of ["package.json", "src", "test/crash"])
    cpSync(join(buildRoot, part), join(root, part), { recursive: true });
  symlinkSync(join(projectRoot, "node_modules"), join(root, "node_modules"), "junction");
  return root;
}

/** Removes all copies. A later test makes a new one. */
export function removeCopies(): void {
  built = undefined;
  for (const root of copies.splice(0)) rmSync(root, { recursive: true, force: true });
}

/** `npm test` builds before the tests. A run of vitest alone builds here if a source is newer than its output. */
async function ensureBuilt(): Promise<void> {
  const isStale = ["src", "test/crash"].some((folder) => {
    const sources = readdirSync(join(projectRoot, folder), { recursive: true, encoding: "utf8" });
    return sources.some((file) => file.endsWith(".ts") && isOlder(join(folder, file)));
  });
  if (!isStale) return;
  const outcome = await buildTests();
  if (!outcome.ok) throw new Error(outcome.output);
}

function isOlder(source: string): boolean {
  const output = statSync(join(buildRoot, source.replace(/\.ts$/, ".js")), { throwIfNoEntry: false });
  return output === undefined || output.mtimeMs < statSync(join(projectRoot, source)).mtimeMs;
}
