/**
 * Makes what is made from sources, once: whichever process needs it first makes it, others wait for that, and it is
 * made again when the text of a source has changed since. Several processes may ask at the same time.
 */
import { createHash } from "node:crypto";
import {
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { root } from "./project.mjs";

/** @typedef {import("./project.mjs").Outcome} Outcome */

/**
 * @typedef {object} Made
 * @property {string} name
 * @property {string} into what is made lies below this; making it spoils whatever else lies there
 * @property {string} proof a file that is there if the rest is
 * @property {string[]} sources files and folders, from the project's root
 * @property {(file: string) => boolean} [isSource] leaves files of the folders out
 * @property {() => Promise<Outcome>} make
 */

const POLL_MS = 50;
const WAIT_MAX_MS = 120_000;
let locks = 0;

/**
 * @param {Made} made
 * @param {{ force?: boolean, base?: string }} [options] force: make it even where nothing has changed
 * @returns {Promise<Outcome>}
 */
export async function ensureFresh(made, { force = false, base = root } = {}) {
  const stamps = path.join(base, ".amends", "built", made.into.replaceAll("/", "-"));
  const stamp = path.join(stamps, made.name);
  mkdirSync(stamps, { recursive: true });
  const isFresh = () =>
    existsSync(path.join(base, made.proof)) &&
    existsSync(stamp) &&
    readFileSync(stamp, "utf8") === fingerprint(made, base);
  if (!force && isFresh()) return { ok: true, output: "" };
  const unlock = await lock(`${stamps}.lock`);
  try {
    if (!force && isFresh()) return { ok: true, output: "" };
    for (const name of readdirSync(stamps)) rmSync(path.join(stamps, name));
    // Taken before: a source that changes meanwhile is noticed the next time.
    const before = fingerprint(made, base);
    const outcome = await made.make();
    if (outcome.ok) writeFileSync(stamp, before);
    return outcome;
  } finally {
    unlock();
  }
}

/**
 * @param {Made} made
 * @param {string} base
 */
function fingerprint({ sources, isSource = () => true }, base) {
  const hash = createHash("sha256");
  for (const file of sources.flatMap((name) => filesOf(name, base)).filter(isSource)) {
    hash
      .update(`${file}\0`)
      .update(readFileSync(path.join(base, file)))
      .update("\0");
  }
  return hash.digest("hex");
}

/**
 * The files below a name, without installed packages: a folder of tests may have a package of its own.
 * @param {string} name
 * @param {string} base
 * @returns {string[]}
 */
function filesOf(name, base) {
  const place = path.join(base, name);
  if (!statSync(place).isDirectory()) return [name];
  return readdirSync(place, { withFileTypes: true })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const below = path.join(name, entry.name);
      if (entry.isDirectory()) return entry.name === "node_modules" ? [] : filesOf(below, base);
      return entry.isFile() ? [below] : [];
    });
}

/**
 * One process at a time. What a process left locked when it died is free.
 * @param {string} file
 * @returns {Promise<() => void>}
 */
async function lock(file) {
  const own = `${file}.${process.pid}.${++locks}`;
  writeFileSync(own, String(process.pid));
  try {
    for (const startedAt = Date.now(); ; await delay(POLL_MS)) {
      if (isTaken(own, file)) return () => rmSync(file, { force: true });
      if (isAbandoned(file)) rmSync(file, { force: true });
      if (Date.now() - startedAt > WAIT_MAX_MS)
        throw new Error(
          `Another process has been building for ${WAIT_MAX_MS / 1_000} s. If none is, remove ${file}.`,
        );
    }
  } finally {
    rmSync(own);
  }
}

/**
 * A link appears with its content, or not at all.
 * @param {string} own
 * @param {string} file
 */
function isTaken(own, file) {
  try {
    linkSync(own, file);
    return true;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === "EEXIST") return false;
    throw error;
  }
}

/** @param {string} file */
function isAbandoned(file) {
  try {
    process.kill(Number(readFileSync(file, "utf8")), 0);
    return false;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === "ESRCH";
  }
}
