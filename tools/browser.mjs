/**
 * Finds the browser of the tests: CHROME_PATH, then the Chromium that comes through npm, then one on the PATH. Nothing
 * is installed on the system.
 */
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { ensureFresh } from "./fresh.mjs";
import { node, root } from "./project.mjs";

/** @typedef {{ executablePath: string, env: Record<string, string> }} Browser */

const PROGRAMS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const PACKAGE = "node_modules/@sparticuz/chromium";
const UNPACKED = ".amends/chromium";

/**
 * @param {{ env?: NodeJS.ProcessEnv, platform?: string }} [machine] this one unless a test says otherwise
 * @returns {Promise<Browser>}
 */
export async function findBrowser({
  env = process.env,
  platform = `${process.platform}-${process.arch}`,
} = {}) {
  const named = env["CHROME_PATH"];
  if (named !== undefined && named !== "") return { executablePath: named, env: {} };
  // The package has a program for this platform only.
  if (platform === "linux-x64") return unpacked();
  const executablePath = PROGRAMS.map((name) => onPath(name, env)).find((one) => one !== undefined);
  if (executablePath !== undefined) return { executablePath, env: {} };
  throw new Error(
    `No browser was found for ${platform}. ` +
      "Install Chromium or Chrome, so that it is on the PATH, or set CHROME_PATH to its program.",
  );
}

/** @returns {Promise<Browser>} */
async function unpacked() {
  const folder = path.join(root, UNPACKED);
  const outcome = await ensureFresh({
    name: "chromium",
    into: UNPACKED,
    proof: `${UNPACKED}/chromium`,
    sources: [`${PACKAGE}/package.json`],
    make: () => unpack(folder),
  });
  if (!outcome.ok) throw new Error(outcome.output);
  return {
    executablePath: path.join(folder, "chromium"),
    env: { LD_LIBRARY_PATH: path.join(folder, "al2023", "lib"), FONTCONFIG_PATH: folder },
  };
}

/**
 * The package unpacks itself into the temporary folder of its process. Where it is told that it runs on a Lambda it also
 * unpacks the libraries that a machine without a browser lacks.
 * @param {string} folder
 */
async function unpack(folder) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const script = 'await (await import("@sparticuz/chromium")).default.executablePath()';
  const env = { TMPDIR: folder, AWS_EXECUTION_ENV: "AWS_Lambda_nodejs22.x" };
  const outcome = await node(["--input-type=module", "-e", script], { env });
  // The fonts of the system, and those of the package where the system has none.
  writeFileSync(
    path.join(folder, "fonts.conf"),
    `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>
<include ignore_missing="yes">/etc/fonts/fonts.conf</include>
<dir>${path.join(folder, "fonts")}</dir><cachedir>${path.join(folder, "fonts-cache")}</cachedir>
</fontconfig>\n`,
  );
  return outcome;
}

/**
 * @param {string} name
 * @param {NodeJS.ProcessEnv} env
 */
function onPath(name, env) {
  return (env["PATH"] ?? "")
    .split(path.delimiter)
    .map((folder) => path.join(folder, name))
    .find((file) => existsSync(file));
}
