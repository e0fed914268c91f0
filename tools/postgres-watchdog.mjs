/**
 * Keeps one PostgreSQL server for exactly as long as its owner lives. The owner talks to this process through
 * stdin; when that pipe closes, for whatever reason (a SIGKILL too), the server is ended and its folder removed.
 * It runs in a session of its own, so a Ctrl-C in the terminal reaches the owner only, which then decides.
 */
import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { createInterface } from "node:readline";

/** @type {{ command: string, args: string[], uid?: number, gid?: number, folder: string }} */
const plan = JSON.parse(process.argv[2] ?? "{}");

/** @type {import("node:child_process").ChildProcess | undefined} */
let server;
let restarting = false;
let ending = false;

/** @param {Record<string, unknown>} message */
function tell(message) {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

function start() {
  const identity = plan.uid === undefined ? {} : { uid: plan.uid, gid: plan.gid ?? plan.uid };
  const child = spawn(plan.command, plan.args, {
    ...identity,
    cwd: plan.folder,
    stdio: ["ignore", "ignore", "inherit"],
    env: { PATH: process.env["PATH"] ?? "", LC_ALL: "C", TZ: "UTC" },
  });
  server = child;
  child.once("error", (error) => {
    tell({ event: "exited", reason: error.message });
    end();
  });
  child.once("exit", (code, signal) => {
    server = undefined;
    if (ending) return finish();
    if (restarting) {
      restarting = false;
      return start();
    }
    tell({ event: "exited", reason: `exit code ${code}, signal ${signal}` });
  });
  if (child.pid !== undefined) tell({ event: "started", pid: child.pid });
}

function end() {
  if (ending) return;
  ending = true;
  if (server === undefined) return finish();
  // Nobody will read the data again, so there is no reason to wait for a checkpoint.
  server.kill("SIGQUIT");
  setTimeout(() => server?.kill("SIGKILL"), 10_000).unref();
}

function finish() {
  rmSync(plan.folder, { recursive: true, force: true, maxRetries: 5 });
  process.exit(0);
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, end);
process.stdout.on("error", end);
createInterface({ input: process.stdin })
  .on("line", (line) => {
    if (line === "stop") return end();
    restarting = true;
    if (server === undefined) {
      restarting = false;
      start();
    } else server.kill(line === "restart immediate" ? "SIGQUIT" : "SIGINT");
  })
  .on("close", end);

start();
