/** What the tools share: where the project is, how its programs are run, how its dependencies get there. */
import { spawn } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
/** The checkout, also for the copy of this file that the tests' build makes. */
export const root = path.basename(here) === "build" ? path.dirname(here) : here;

const programs = {
  tsc: "typescript/bin/tsc",
  vite: "vite/bin/vite.js",
  oxlint: "oxlint/bin/oxlint",
  oxfmt: "oxfmt/bin/oxfmt",
  vitest: "vitest/vitest.mjs",
};

/** @typedef {{ ok: boolean, output: string }} Outcome */

/**
 * Runs a Node.js script with this very Node.js. The output is collected unless it is shown at once.
 * @param {string[]} args
 * @param {{ show?: boolean, cwd?: string, env?: Record<string, string> }} [options]
 * @returns {Promise<Outcome>}
 */
export function node(args, options) {
  return run(process.execPath, args, options);
}

/**
 * @param {keyof typeof programs} name
 * @param {string[]} args
 * @param {{ show?: boolean, env?: Record<string, string> }} [options]
 */
export function program(name, args, options) {
  return node([path.join(root, "node_modules", programs[name]), ...args], options);
}

/**
 * @param {string} command
 * @param {string[]} args
 * @param {{ show?: boolean, cwd?: string, env?: Record<string, string> }} [options]
 * @returns {Promise<Outcome>}
 */
function run(command, args, { show = false, cwd = root, env = {} } = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: show ? "inherit" : ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (/** @type {string} */ text) => (output += text));
    }
    child.once("error", (error) => resolve({ ok: false, output: error.message }));
    child.once("close", (code) => resolve({ ok: code === 0, output }));
  });
}

/**
 * Runs npm, the very one that runs this if there is one.
 * @param {string[]} args
 * @param {string} cwd
 * @returns {Promise<Outcome>}
 */
export function npm(args, cwd) {
  const cli = process.env["npm_execpath"];
  return cli === undefined ? run("npm", args, { cwd }) : node([cli, ...args], { cwd });
}

/**
 * Installs what package-lock.json asks for, unless it is there already. No dependency's install script runs:
 * none is needed.
 * @param {string} [folder]
 */
export async function ensureInstalled(folder = root) {
  const lock = path.join(folder, "package-lock.json");
  const installed = path.join(folder, "node_modules", ".package-lock.json");
  const locked = existsSync(lock);
  if (existsSync(installed) && (!locked || statSync(installed).mtimeMs >= statSync(lock).mtimeMs)) return;
  const args = [locked ? "ci" : "install", "--ignore-scripts", "--no-audit", "--no-fund"];
  await progress(`installing ${path.relative(root, folder) || "dependencies"}`, async () => {
    const outcome = await npm(args, folder);
    if (!outcome.ok) throw new Error(`npm ${args.join(" ")} failed:\n${outcome.output}`);
  });
}

/**
 * Tells how long something takes: on a terminal while it lasts, elsewhere once it is done.
 * @template T
 * @param {string} title
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function progress(title, work) {
  const startedAt = performance.now();
  const seconds = () => `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
  const terminal = process.stderr.isTTY;
  const ticker = terminal
    ? setInterval(() => process.stderr.write(`\r${title} … ${seconds()}`), 100)
    : undefined;
  if (!terminal) process.stderr.write(`${title} …\n`);
  try {
    return await work();
  } finally {
    clearInterval(ticker);
    if (terminal) process.stderr.write("\r\u001B[K");
    process.stderr.write(`${title}: ${seconds()}\n`);
  }
}

/**
 * Ends the process with a message instead of a stack when a tool could not do its work.
 * @param {() => Promise<void>} main
 */
export async function toolMain(main) {
  try {
    await main();
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    process.exitCode = 1;
  }
}

/**
 * True when the file with this URL is what Node.js was asked to run, not an import of it.
 * @param {string} url
 */
export function isMain(url) {
  return process.argv[1] !== undefined && path.resolve(process.argv[1]) === fileURLToPath(url);
}
