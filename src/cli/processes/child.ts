/** A command of this program in a process of its own, which ends with this one. */
import { fork } from "node:child_process";
import process from "node:process";
import type { World } from "../program/world.ts";

/** How a child ended: with an exit code, or by a signal. */
export interface ChildEnd {
  readonly code: number | null;
  readonly signal: string | null;
}

export interface Child {
  readonly pid: number | undefined;
  readonly ended: Promise<ChildEnd>;
  /** Asks it to stop in order, and kills it if it has not ended after this time. */
  end(patienceMs: number): Promise<ChildEnd>;
}

export interface ChildOptions {
  readonly argv: readonly string[];
  readonly env: World["env"];
  readonly cwd: string;
  /** Gets each message of the child. */
  readonly onMessage: (message: unknown) => void;
  /** Gets each line of its output; without it, the child writes where this process writes. */
  readonly onLine?: (line: string, stream: "out" | "err") => void;
}

export function launch({ argv, env, cwd, onMessage, onLine }: ChildOptions): Child {
  const script = process.argv[1] as string;
  const output = onLine ? "pipe" : "inherit";
  const child = fork(script, argv, { cwd, env, stdio: ["ignore", output, output, "ipc"] });
  child.on("message", onMessage);
  for (const [stream, name] of [
    [child.stdout, "out"],
    [child.stderr, "err"],
  ] as const)
    if (stream && onLine) readLines(stream, (line) => onLine(line, name));
  const ended = new Promise<ChildEnd>((resolve) => {
    const onEnd = (code: number | null, signal: string | null): void => resolve({ code, signal });
    child.once(onLine ? "close" : "exit", onEnd);
    child.once("error", () => resolve({ code: 1, signal: null }));
  });
  return {
    pid: child.pid,
    ended,
    end: async (patienceMs) => {
      if (child.connected) child.send("stop", () => undefined);
      const timer = setTimeout(() => child.kill("SIGKILL"), patienceMs);
      const end = await ended;
      clearTimeout(timer);
      return end;
    },
  };
}

/** Whole lines; what follows the last end of a line is one as well. */
function readLines(stream: NodeJS.ReadableStream, onLine: (line: string) => void): void {
  let rest = "";
  stream.setEncoding("utf8");
  stream.on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) onLine(line);
  });
  stream.on("end", () => {
    if (rest !== "") onLine(rest);
  });
}

/** Options of this process as words for a child. An option that was not given is left out. */
export function optionWords(
  given: Readonly<Record<string, string | number | boolean | undefined>>,
): readonly string[] {
  return Object.entries(given).flatMap(([name, value]) => {
    if (value === undefined || value === false) return [];
    return [value === true ? `--${name}` : `--${name}=${value}`];
  });
}
