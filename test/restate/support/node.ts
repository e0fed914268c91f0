/** Processes that run the stories. They need a Node.js that runs TypeScript and the SDK of Restate: 22 or newer. */
import { spawn } from "node:child_process";
import path from "node:path";
import { nodeForRestate } from "../../../tools/restate.mjs";

export interface Service {
  /** Resolves as soon as the process has printed this line. */
  said(line: string): Promise<void>;
  stop(): Promise<void>;
}

/** Runs a file of this folder. A process that is killed is started again, as a supervisor would do it. */
export async function startService(file: string, env: Record<string, string>): Promise<Service> {
  const program = await nodeForRestate();
  let isStopped = false;
  let output = "";
  let heard: () => void = () => undefined;
  let child = start();
  function start(): ReturnType<typeof spawn> {
    const started = spawn(program, [path.join(import.meta.dirname, file)], {
      env: { ...process.env, NODE_NO_WARNINGS: "1", ...env },
      stdio: ["ignore", "pipe", "inherit"],
    });
    started.stdout?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      heard();
    });
    started.once("exit", () => {
      if (!isStopped) child = start();
    });
    return started;
  }
  const kill = (): void => {
    isStopped = true;
    child.kill("SIGKILL");
  };
  process.once("exit", kill);
  return {
    async said(line) {
      while (!output.includes(`${line}\n`)) await new Promise<void>((resolve) => (heard = resolve));
    },
    async stop() {
      const gone = new Promise((resolve) => child.once("exit", resolve));
      kill();
      process.off("exit", kill);
      await gone;
    },
  };
}
