#!/usr/bin/env node
/** The program `amends`: the only place that knows the real process. */
import process from "node:process";
import { createInterface } from "node:readline/promises";
import { run } from "./program/run.ts";
import type { Terminal, World } from "./program/world.ts";

const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) {
  process.on(name, () => {
    // A second signal ends the process at once.
    if (stop.signal.aborted) process.exit(1);
    stop.abort();
  });
}
// A parent that is gone cannot send a stop message.
process.on("disconnect", () => stop.abort());
process.on("message", (message) => {
  if (message === "stop") stop.abort();
});
// The reader of our output, such as `head`, may close the pipe early.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});

function terminal(): Terminal | undefined {
  const { env, stdout } = process;
  if (!stdout.isTTY || env["TERM"] === "dumb") return undefined;
  const columns = stdout.columns > 0 ? stdout.columns : 80;
  return { columns, colours: (env["NO_COLOR"] ?? "") === "" };
}

/** A person must be at both ends: a pipe answers nothing. */
async function ask(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await lines.question(question, { signal: stop.signal });
  } catch {
    return ""; // Ctrl-C, or the end of the input
  } finally {
    lines.close();
  }
}

const world: World = {
  env: process.env,
  cwd: process.cwd(),
  terminal: terminal(),
  ask: process.stdin.isTTY && process.stdout.isTTY ? ask : undefined,
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  stop: stop.signal,
  nowMs: () => Date.now(),
};

process.exitCode = await run(process.argv.slice(2), world);
// Nothing of ours is open any more; what the user's own files keep open must not keep the process.
if (process.connected) process.disconnect();
setTimeout(() => process.exit(), 2_000).unref();
