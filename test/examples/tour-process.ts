/** The tour as a process that goes on until it is told to stop, with no terminal, in a folder that is thrown away. */
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { compiledScript } from "../support/built.ts";

export class TourProcess {
  readonly folder: string;
  output = "";
  readonly #child: ChildProcess;
  readonly #gone: Promise<number | null>;
  #heard: () => void = () => undefined;

  private constructor(script: string, args: readonly string[]) {
    this.folder = mkdtempSync(path.join(tmpdir(), "amends-tour-"));
    const env = { ...process.env, FORCE_COLOR: "", CI: "true" };
    this.#child = spawn(process.execPath, [script, ...args], {
      cwd: this.folder,
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.output += text;
        this.#heard();
      });
    }
    this.#gone = new Promise((resolve) => {
      this.#child.once("close", (code) => {
        this.#heard();
        resolve(code);
      });
    });
  }

  static async start(...args: readonly string[]): Promise<TourProcess> {
    return new TourProcess(await compiledScript("examples/tour/main.ts"), args);
  }

  /** Waits until it has said this, wherever its lines were broken. */
  async hears(words: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = words.exec(this.output.replaceAll(/\s+/g, " "));
      if (found) return found;
      if (this.#child.exitCode !== null) throw new Error(`The tour ended without it:\n${this.output}`);
      await new Promise<void>((resolve) => {
        this.#heard = resolve;
      });
    }
  }

  /** As Ctrl-C does. Resolves with the exit code. */
  async interrupt(): Promise<number | null> {
    this.#child.kill("SIGINT");
    const code = await this.#gone;
    rmSync(this.folder, { recursive: true, force: true });
    return code;
  }
}
