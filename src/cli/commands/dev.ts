/**
 * `amends dev`: worker and console with the user's files. A child process does the work, so that every restart loads
 * all modules again; this process only watches, restarts, and keeps the console's address the same.
 */
import { randomBytes } from "node:crypto";
import { createServer, type AddressInfo } from "node:net";
import { dirname, relative } from "node:path";
import process from "node:process";
import { launch, optionWords } from "../processes/child.ts";
import { command, flag, number, type Command, type Values } from "../program/command.ts";
import { findConfig } from "../config/load-config.ts";
import { Trouble } from "../program/failure.ts";
import { paint } from "../terminal/ink.ts";
import { logLines } from "../terminal/log-lines.ts";
import type { Output } from "../terminal/output.ts";
import { CONSOLE_PORT } from "../../console/http/node-http.ts";
import { serve } from "../program/service.ts";
import { JSON_OUT } from "../program/shared-options.ts";
import { DATABASE, openLocal } from "../source/source.ts";
import { watchProject } from "../processes/watch.ts";
import type { ExitCode, World } from "../program/world.ts";

const OPTIONS = {
  ...DATABASE,
  port: number("N", `Port of the console. Default: ${CONSOLE_PORT}. 0 takes a free one.`, 0, 65_535),
  "no-watch": flag("Runs once, without watching for changes."),
  ...JSON_OUT,
} as const;

/** How long a child may take to end before it is ended. */
const PATIENCE_MS = 5_000;
const TOKEN = "AMENDS_DEV_TOKEN";
/** The message of a child about an error that no change of a file can fix. */
const PORT_TAKEN = "port-taken";

export const dev: Command = command({
  name: "dev",
  group: "Run",
  summary: "Runs worker and console with your files, and restarts when they change.",
  about:
    "Runs the migrations at each start. If a file cannot be loaded, it prints the error and tries again at the next change.",
  options: OPTIONS,
  examples: [
    ["amends dev", "with amends.config.ts of this folder"],
    ["amends dev --database dev.db --port 0", "on another database, and on whatever port is free"],
  ],
  run: async ({ options, output, world }) =>
    options["no-watch"] ? once(options, output, world) : watched(options, output, world),
});

async function once(options: Values<typeof OPTIONS>, output: Output, world: World): Promise<ExitCode> {
  const logger = logLines(output, world, true);
  const local = await openLocal(options, world, { definitions: true, mayCreate: true, logger });
  const token = world.env[TOKEN];
  const wishes = { port: options.port, host: undefined, hosts: [], token: token === "" ? undefined : token };
  const service = { migrate: true, worker: {}, console: wishes, deadline: "2s" } as const;
  try {
    return await serve(local, { ...service, leavesQuietly: true, tellsThrows: true }, output, world);
  } catch (error) {
    if ((error as { code?: unknown }).code === "EADDRINUSE") process.send?.(PORT_TAKEN);
    throw error;
  }
}

async function watched(options: Values<typeof OPTIONS>, output: Output, world: World): Promise<ExitCode> {
  const file = findConfig(world.cwd, options.config);
  if (file === undefined)
    throw new Trouble(
      "CONFIG_MISSING",
      "There is no amends.config.ts in this folder.",
      "amends init writes one.",
    );
  const token = world.env["AMENDS_TOKEN"] || randomBytes(24).toString("base64url");
  const port = options.port === 0 ? await freePort() : options.port;
  const argv = ["dev", ...optionWords({ ...options, port, "no-watch": true })];
  let isStale = false;
  let wake: () => void = () => undefined;
  const watch = watchProject(dirname(file), (path) => {
    output.say(paint("dim", `${relative(world.cwd, path)} changed`));
    isStale = true;
    wake();
  });
  world.stop.addEventListener("abort", () => wake(), { once: true });
  try {
    while (!world.stop.aborted) {
      isStale = false;
      let isPortTaken = false;
      const child = launch({
        argv,
        env: { ...world.env, [TOKEN]: token },
        cwd: world.cwd,
        onMessage: (message) => (isPortTaken ||= message === PORT_TAKEN),
      });
      await Promise.race([child.ended, new Promise<void>((resolve) => (wake = resolve))]);
      if (isPortTaken) return 1;
      if (!isStale && !world.stop.aborted) {
        output.say(paint("yellow", "Waiting for a change."));
        await new Promise<void>((resolve) => {
          wake = resolve;
          if (isStale || world.stop.aborted) resolve();
        });
      }
      await child.end(PATIENCE_MS);
    }
    return 0;
  } finally {
    watch.close();
  }
}

/** The same one at every restart. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve) => void server.close(() => resolve()));
  return port;
}
