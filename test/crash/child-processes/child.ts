/** Starts a child process from a bundled script, collects its reports, and kills or wakes it. */
import { fork, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { bundled } from "./bundle.ts";
import type { ChildInstructions, ChildReport } from "./messages.ts";

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

  /** `root` is the folder of the bundled scripts. */
  constructor(root: string, script: string, instructions: unknown, limitMs: number = LIMIT_MS) {
    const child = fork(join(root, `${script}.mjs`), [JSON.stringify(instructions)], {
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

/** Starts the crashing process, from a bundle with a bug in it if `root` is given. */
export async function startChild(instructions: ChildInstructions, root?: string): Promise<Child> {
  return new Child(root ?? (await bundled()), "harness/crashing-process", instructions);
}
