/** A service of examples/frameworks in a process of its own, as its user would run it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { expect } from "vitest";

export interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Service {
  /** Sends a request, and returns status and JSON. */
  request(path: string, init?: Sent): Promise<{ status: number; body: unknown }>;
  /** Sends SIGTERM. */
  terminate(): void;
  /** Waits for the end of the process: its exit code, or the name of the signal that killed it. */
  ended(): Promise<number | string>;
  /** Kills the process if it still runs. */
  [Symbol.asyncDispose](): Promise<void>;
}

export interface Command {
  readonly cwd: string;
  readonly args: readonly string[];
  /** Whether requests keep their connections open: a stop then takes until the service cuts them off. */
  readonly keepAlive: boolean;
}

/** Starts the process, and waits until `ready` is answered with 200. */
export async function startService(
  command: Command,
  ready: string,
  env: Readonly<Record<string, string>>,
): Promise<Service> {
  const port = await freePort();
  const child = spawn(process.execPath, [...command.args], {
    cwd: command.cwd,
    env: { ...process.env, ...env, NODE_ENV: "production", PORT: String(port) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  const closed = once(child, "close");

  async function request(path: string, init?: Sent): Promise<{ status: number; body: unknown }> {
    const headers = { ...init?.headers, ...(!command.keepAlive && { connection: "close" }) };
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { ...init, headers });
    const text = await response.text();
    return { status: response.status, body: text.startsWith("{") ? JSON.parse(text) : text };
  }

  const service: Service = {
    request,
    terminate: () => child.kill("SIGTERM"),
    ended: async () => {
      await closed;
      return child.signalCode ?? child.exitCode ?? -1;
    },
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await closed;
    },
  };
  try {
    await expect
      .poll(async () => {
        if (child.exitCode !== null) return `ended with ${child.exitCode}:\n${output}`;
        return request(ready).then(
          ({ status }) => status,
          () => "no answer",
        );
      })
      .toBe(200);
  } catch (error) {
    await service[Symbol.asyncDispose]();
    throw new Error(`The service did not become ready:\n${output}`, { cause: error });
  }
  return service;
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return port;
}
