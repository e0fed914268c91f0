/** Starts a child process of the tests from what was built, and listens to it. */
import { fork, type ChildProcess } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildTests } from "../../tools/build.mjs";
import type { Orders, Report } from "./orders.ts";

const projectRoot: string = fileURLToPath(new URL("../..", import.meta.url));
const buildRoot: string = join(projectRoot, "build");

export interface Ended {
  readonly signal: NodeJS.Signals | null;
  readonly code: number | null;
  /** What it wrote to its standard error. */
  readonly errors: string;
  /** It had to be ended by us. */
  readonly hung: boolean;
}

const PATIENCE_MS = 60_000;

/** Whoever still runs when the tests end, after a failure, is not left behind. */
const alive = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of alive) child.kill("SIGKILL");
});

export class Child {
  readonly reports: Report[] = [];
  readonly ended: Promise<Ended>;
  /** It has announced that it stops itself now, or has ended without. */
  readonly stopped: Promise<void>;
  /** It has reported something, or has ended without. */
  readonly reported: Promise<void>;
  readonly #process: ChildProcess;

  /** `root` is where the compiled sources are. */
  constructor(root: string, script: string, orders: unknown, patienceMs: number = PATIENCE_MS) {
    const child = fork(join(root, "test", "crash", script), [JSON.stringify(orders)], {
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      execArgv: [],
    });
    this.#process = child;
    let errors = "";
    child.stderr?.on("data", (chunk: Buffer) => (errors += chunk.toString()));
    child.on("message", (report: Report) => this.reports.push(report));
    alive.add(child);
    let hung = false;
    const watchdog = setTimeout(() => (hung = child.kill("SIGKILL")), patienceMs);
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

  onReport(listener: (report: Report) => void): void {
    this.#process.on("message", listener);
  }

  send(message: object): void {
    // Whoever was killed meanwhile does not hear it: that is what this is about.
    if (this.#process.connected) this.#process.send(message, () => undefined);
  }

  /** Lets it go on. It says that it stops a moment before it does, and may miss the first call. */
  async wake(): Promise<Ended> {
    const calling = setInterval(() => this.kill("SIGCONT"), 50);
    return this.ended.finally(() => clearInterval(calling));
  }

  kill(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }
}

/** From a copy with a bug in it, where one is given. */
export async function startChild(orders: Orders, root?: string): Promise<Child> {
  return new Child(root ?? (await compiled()), "child.js", orders);
}

let built: Promise<string> | undefined;

/** Where the compiled sources are: a copy, so that nobody who builds meanwhile changes them under a running test. */
export function compiled(): Promise<string> {
  built ??= ensureBuilt().then(() => copyBuild());
  return built;
}

const copies: string[] = [];

/** A copy of the build that runs like the build itself. */
export function copyBuild(): string {
  const root = mkdtempSync(join(tmpdir(), "amends-build-"));
  copies.push(root);
  for (const part of ["package.json", "src", "test/crash", "test/support"])
    cpSync(join(buildRoot, part), join(root, part), { recursive: true });
  symlinkSync(join(projectRoot, "node_modules"), join(root, "node_modules"), "junction");
  return root;
}

/** Whoever needs one later gets a new one. */
export function removeCopies(): void {
  built = undefined;
  for (const root of copies.splice(0)) rmSync(root, { recursive: true, force: true });
}

/** `npm test` has built before the tests begin; whoever runs vitest alone may have changed something since. */
async function ensureBuilt(): Promise<void> {
  const isStale = ["src", "test/crash", "test/support"].some((folder) => {
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
