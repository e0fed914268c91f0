/**
 * `npm run package-check`: packs the package as it would be published, puts it into an empty project, and uses it there
 * as its user would: every entry is imported, `amends init` and `amends dev` run, and the types compile. Its links lead
 * to files that it has, and publint and are-the-types-wrong find nothing.
 *
 *   --node PATH   another Node.js than this one; may be given several times (also AMENDS_NODES, with commas between)
 *   --linked      takes the dependencies from this checkout instead of installing them: no network, for `npm test`
 *   --tsx         also installs tsx, and uses a config in TypeScript under a Node.js that cannot read it by itself
 *   --built       takes dist/ as it is
 *   --keep        leaves the project where it is, and tells where
 */
import { spawn } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { buildPackage } from "./build.mjs";
import { ensureFresh } from "./fresh.mjs";
import { deadLinks, lintPackage } from "./package-lint.mjs";
import { ensureInstalled, isMain, progress as loud, root, toolMain } from "./project.mjs";

/**
 * @typedef {{ name: string, version: string, bin: Record<string, string>, exports: Record<string, unknown>, dependencies: Record<string, string>, optionalDependencies: Record<string, string>, devDependencies: Record<string, string> }} Manifest
 * @typedef {{ nodes: string[], linked: boolean, tsx: boolean, built: boolean, keep: boolean, quiet?: boolean }} Options
 * @typedef {{ code: number, output: string }} Ran
 */

/** @type {Manifest} */
const manifest = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));

/** What a project needs beside the package for all of its entries and their types. */
const PEERS = ["pg", "@types/pg", "@types/node", "@opentelemetry/api", "drizzle-orm", "kysely", "zod"];

/**
 * @param {string} command
 * @param {string[]} args
 * @param {string} cwd
 * @param {number} [timeoutMs]
 * @returns {Promise<Ran>}
 */
export function run(command, args, cwd, timeoutMs = 120_000) {
  return new Promise((resolve) => {
    const { NODE_OPTIONS: _options, DATABASE_URL: _database, ...env } = process.env;
    const child = spawn(command, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"], timeout: timeoutMs });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (/** @type {string} */ text) => (output += text));
    child.once("error", (error) => resolve({ code: -1, output: error.message }));
    child.once("close", (code) => resolve({ code: code ?? -1, output }));
  });
}

/**
 * Runs what must succeed, and answers with what it said.
 * @param {string} command
 * @param {string[]} args
 * @param {string} cwd
 */
async function must(command, args, cwd) {
  const { code, output } = await run(command, args, cwd);
  if (code !== 0)
    throw new Error(`${[path.basename(command), ...args].join(" ")} ended with ${code}:\n${output}`);
  return output;
}

/**
 * @param {string[]} args
 * @param {string} cwd
 */
async function npm(args, cwd) {
  const script = process.env["npm_execpath"];
  return script === undefined ? must("npm", args, cwd) : must(process.execPath, [script, ...args], cwd);
}

const TARBALL = `.amends/package/${manifest.name}.tgz`;

/**
 * Packed once, for everybody who needs it: npm takes seconds for it.
 * @type {import("./fresh.mjs").Made}
 */
const archive = {
  name: "tarball",
  into: path.posix.dirname(TARBALL),
  proof: TARBALL,
  sources: [
    "dist",
    "docs",
    "examples",
    ...readdirSync(root).filter((name) => /^(?:[A-Z]+(?:\.md)?|package\.json)$/.test(name)),
  ],
  make: async () => {
    const folder = path.join(root, path.dirname(TARBALL));
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    try {
      renameSync(await packInto(folder), path.join(root, TARBALL));
      return { ok: true, output: "" };
    } catch (error) {
      return { ok: false, output: String(error) };
    }
  },
};

/** @returns {Promise<string>} the tarball of the package, as dist/ is now */
export async function pack() {
  const { ok, output } = await ensureFresh(archive);
  if (!ok) throw new Error(output);
  return path.join(root, TARBALL);
}

/**
 * @param {string} folder
 * @returns {Promise<string>} the tarball
 */
async function packInto(folder) {
  const told = await npm(["pack", "--json", "--ignore-scripts", "--pack-destination", folder], root);
  const [made] = JSON.parse(told.slice(told.indexOf("[")));
  const names = /** @type {{ path: string }[]} */ (made.files).map((file) => file.path);
  for (const wanted of [
    "README.md",
    "LICENSE",
    "SECURITY.md",
    "dist/index.d.ts",
    "dist/console-assets/index.html",
    "dist/console-assets/THIRD-PARTY-NOTICES.txt",
    "dist/cli/main.js",
  ])
    if (!names.includes(wanted)) throw new Error(`${wanted} is not in the package.`);
  const strange = names.filter(
    (name) =>
      !/^(?:(?:dist|docs|examples)\/|[A-Z]+(?:\.md)?$|package\.json$)/.test(name) ||
      /\/(?:node_modules|\.\w+)\//.test(name),
  );
  if (strange.length > 0) throw new Error(`The package holds what nobody needs: ${strange.join(", ")}`);
  const dead = deadLinks(names, (name) => readFileSync(path.join(root, name), "utf8"));
  if (dead.length > 0) throw new Error(dead.join("\n"));
  return path.join(folder, made.filename);
}

/**
 * As npm would, without asking anybody: the package unpacked, everything else linked from this checkout.
 * @param {string} tarball
 * @param {string} project
 */
export async function link(tarball, project) {
  const modules = path.join(project, "node_modules");
  mkdirSync(path.join(modules, ".bin"), { recursive: true });
  await must("tar", ["-xzf", tarball, "-C", project], project);
  cpSync(path.join(project, "package"), path.join(modules, manifest.name), { recursive: true });
  rmSync(path.join(project, "package"), { recursive: true });
  const bin = path.join(modules, manifest.name, manifest.bin["amends"] ?? "");
  chmodSync(bin, 0o755);
  symlinkSync(bin, path.join(modules, ".bin", "amends"));
  for (const name of [
    ...Object.keys(manifest.dependencies),
    ...Object.keys(manifest.optionalDependencies),
    ...PEERS,
  ]) {
    mkdirSync(path.dirname(path.join(modules, name)), { recursive: true });
    symlinkSync(path.join(root, "node_modules", name), path.join(modules, name), "dir");
  }
}

/**
 * @param {string} tarball
 * @param {string} project
 * @param {boolean} withTsx
 */
async function install(tarball, project, withTsx) {
  const versions = PEERS.map((name) => `${name}@${manifest.devDependencies[name] ?? "*"}`);
  const wanted = [tarball, ...versions, ...(withTsx ? ["tsx"] : [])];
  await npm(
    ["install", ...wanted, "--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts"],
    project,
  );
}

const entries = Object.keys(manifest.exports).map((door) => path.posix.join(manifest.name, door));
const codeEntries = entries.filter((name) => !name.endsWith(".json"));

/**
 * Every entry can be imported, and required by what is still CommonJS.
 * @param {string} node
 * @param {string} project
 */
async function imports(node, project) {
  const script = codeEntries
    .map(
      (name) =>
        `if (Object.keys(await import("${name}")).length === 0) throw new Error("${name} exports nothing");`,
    )
    .join("\n");
  await must(node, ["--input-type=module", "-e", script], project);
  await must(node, ["-e", `require("${manifest.name}"); require("${manifest.name}/package.json");`], project);
}

/**
 * The types, as strict as can be, with those of the package itself looked at; and as a plain tsc has them, which does
 * not allow a path that ends with .ts.
 * @param {string} project
 * @param {string[]} files
 */
async function types(project, files) {
  const config = {
    compilerOptions: {
      target: "es2023",
      lib: ["es2023", "esnext.disposable"],
      module: "nodenext",
      types: ["node"],
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      noEmit: true,
      skipLibCheck: false,
    },
    files,
  };
  const imported = codeEntries.map((name, index) => `import * as e${index} from "${name}";`).join("\n");
  const used = codeEntries.map((_, index) => `e${index}`).join(", ");
  writeFileSync(path.join(project, "every-entry.mts"), `${imported}\nexport default [${used}];\n`);
  writeFileSync(path.join(project, "tsconfig.check.json"), JSON.stringify(config));
  const tsc = path.join(root, "node_modules", "typescript", "bin", "tsc");
  await must(process.execPath, [tsc, "-p", "tsconfig.check.json"], project);
  const plain = ["--ignoreConfig", "--strict", "--module", "nodenext", "--target", "es2023", "--noEmit"];
  const own = files.filter((name) => name.startsWith("amends.config."));
  await must(process.execPath, [tsc, ...plain, "--types", "node", "--skipLibCheck", ...own], project);
}

/**
 * The types as projects see them that have not left `moduleResolution: node` (node10), which reads no `exports`. The
 * compiler is that of are-the-types-wrong: TypeScript 7 no longer has this resolution.
 * @param {string} project
 */
async function olderTypes(project) {
  const require = createRequire(import.meta.url);
  const tsc = createRequire(require.resolve("@arethetypeswrong/core")).resolve("typescript/lib/tsc.js");
  const older = ["--module", "commonjs", "--moduleResolution", "node10", "--target", "es2022"];
  const lib = ["--lib", "es2023,esnext.disposable", "--types", "node"];
  writeFileSync(
    path.join(project, "older.cts"),
    `${codeEntries.map((name, index) => `import * as e${index} from "${name}";`).join("\n")}
export const all = [${codeEntries.map((_, index) => `e${index}`).join(", ")}];
export const refused: e0.AmendsError = new e0.AmendsError("CLOSED", "");
`,
  );
  await must(
    process.execPath,
    [tsc, ...older, ...lib, "--strict", "--noEmit", "--skipLibCheck", "older.cts"],
    project,
  );
}

const DECLARATIONS = path.join(root, "test", "types", "declarations");

/**
 * Exported sagas, events and the rest without an annotation, in a project with `declaration: true`, as `nest new` makes it:
 * the compiler names the types of the package by its entries. One program per file, so that a file stands on the entries that
 * it imports itself. Older compilers name them as well.
 * @param {string} project
 */
async function declarations(project) {
  const tsc = path.join(root, "node_modules", "typescript", "bin", "tsc");
  const common = [
    "--declaration",
    "--emitDeclarationOnly",
    "--outDir",
    "declared",
    "--strict",
    "--types",
    "node",
  ];
  const target = ["--target", "es2022", "--lib", "es2023,esnext.disposable", "--module", "nodenext"];
  const args = [...common, ...target, "--skipLibCheck"];
  const files = readdirSync(DECLARATIONS);
  if (files.length === 0) throw new Error(`${DECLARATIONS} is empty.`);
  const modules = files.map((file) => file.replace(/\.ts$/, ".mts"));
  files.forEach((file, index) => {
    cpSync(path.join(DECLARATIONS, file), path.join(project, /** @type {string} */ (modules[index])));
  });
  for (const file of modules) await must(process.execPath, [tsc, "--ignoreConfig", ...args, file], project);
  await must(
    process.execPath,
    [path.join(root, "tools", "older-declarations.mjs"), ...args, ...modules],
    project,
  );
}

const CONFIGS = ["ts", "mts", "js", "mjs"].map((end) => `amends.config.${end}`);

/** @param {string} project */
function binOf(project) {
  return path.join(project, "node_modules", manifest.name, manifest.bin["amends"] ?? "");
}

/**
 * What an earlier turn has left behind.
 * @param {string} project
 */
function clear(project) {
  const databases = ["", "-wal", "-shm"].map((end) => `amends.db${end}`);
  for (const name of ["tsconfig.json", ...CONFIGS, ...databases])
    rmSync(path.join(project, name), { recursive: true, force: true });
}

/**
 * `amends init` in what is empty but for the package, then `amends dev`, until the first saga has completed.
 * @param {string} node
 * @param {string} project
 * @param {"ts" | "js"} language
 */
async function firstSteps(node, project, language) {
  const bin = binOf(project);
  const amends = (/** @type {string[]} */ ...args) => must(node, [bin, ...args], project);
  clear(project);
  const version = (await amends("--version")).trim();
  if (version !== manifest.version) throw new Error(`amends --version says ${version}`);
  await amends("init", "--language", language);
  const dev = await start(node, [bin, "dev", "--port", "0"], project);
  try {
    const address = await dev.seen(/(http:\/\/127\.0\.0\.1:\d+\/)#token=\S+/);
    await dev.seen(/working on /);
    const page = await (await fetch(address)).text();
    if (!page.includes("<title>")) throw new Error(`The console shows no page: ${page.slice(0, 200)}`);
    await amends("start", "first-saga", '{"name":"Ann","cents":250}', "--id", "o-1");
    const streamed = await amends("stream", "o-1");
    if (!streamed.includes("COMPLETED")) throw new Error(`The first saga did not complete:\n${streamed}`);
    await amends("doctor");
  } finally {
    await dev.stop();
  }
}

/**
 * @param {string} node
 * @param {string[]} args
 * @param {string} cwd
 */
async function start(node, args, cwd) {
  const child = spawn(node, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  let look = () => {};
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (/** @type {string} */ text) => {
      output += text;
      look();
    });
  const gone = new Promise((resolve) => child.once("close", resolve));
  void gone.then(() => look());
  return {
    /** @param {RegExp} pattern @returns {Promise<string>} */
    seen: (pattern) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(
          () => reject(new Error(`amends dev did not say ${pattern}:\n${output}`)),
          60_000,
        );
        look = () => {
          const match = pattern.exec(output);
          if (!match && child.exitCode === null) return;
          clearTimeout(timer);
          if (match) resolve(match[1] ?? match[0]);
          else reject(new Error(`amends dev ended:\n${output}`));
        };
        look();
      }),
    stop: async () => {
      child.kill("SIGTERM");
      const code = await gone;
      if (code !== 0) throw new Error(`amends dev ended with ${code}:\n${output}`);
    },
  };
}

/**
 * @param {string} node
 * @param {string} project
 */
async function readsTypeScript(node, project) {
  if (existsSync(path.join(project, "node_modules", "tsx"))) return true;
  const told = await must(node, ["-p", "typeof process.features.typescript"], project);
  return told.trim() === "string";
}

/**
 * @template T
 * @param {string} _title
 * @param {() => Promise<T>} work
 */
function quietly(_title, work) {
  return work();
}

/** @param {Options} options */
export async function packageCheck({ nodes, linked, tsx, built, keep, quiet = false }) {
  const progress = quiet ? quietly : loud;
  if (!built) {
    const outcome = await progress("building", buildPackage);
    if (!outcome.ok) throw new Error(outcome.output);
  }
  const place = mkdtempSync(path.join(tmpdir(), "amends-package-"));
  const project = path.join(place, "empty-project");
  mkdirSync(project);
  try {
    const packed = await pack();
    await progress(linked ? "linking" : "installing", () =>
      linked ? link(packed, project) : install(packed, project, tsx),
    );
    for (const node of nodes) {
      const version = (await must(node, ["--version"], project)).trim();
      await progress(`Node.js ${version}: every entry`, () => imports(node, project));
      await progress(`Node.js ${version}: init and dev`, () => firstSteps(node, project, "js"));
      if (await readsTypeScript(node, project))
        await progress(`Node.js ${version}: init and dev, in TypeScript`, () =>
          firstSteps(node, project, "ts"),
        );
    }
    clear(project);
    await must(process.execPath, [binOf(project), "init", "--language", "ts"], project);
    const config = CONFIGS.filter((name) => existsSync(path.join(project, name)));
    await progress("types", () => types(project, ["every-entry.mts", ...config]));
    await progress("types, in declarations", () => declarations(project));
    await progress("types, resolved the older way", () => olderTypes(project));
    const wrong = await progress("publint, are-the-types-wrong", () =>
      lintPackage(packed, path.join(project, "node_modules", manifest.name)),
    );
    if (wrong.length > 0) throw new Error(wrong.join("\n"));
  } finally {
    if (keep) console.log(`left in ${project}`);
    else rmSync(place, { recursive: true, force: true });
  }
}

if (isMain(import.meta.url)) {
  const { values } = parseArgs({
    options: {
      node: { type: "string", multiple: true },
      linked: { type: "boolean", default: false },
      tsx: { type: "boolean", default: false },
      built: { type: "boolean", default: false },
      keep: { type: "boolean", default: false },
    },
  });
  await toolMain(async () => {
    await ensureInstalled();
    const named = values.node ?? process.env["AMENDS_NODES"]?.split(",") ?? [];
    const { linked, tsx, built, keep } = values;
    await packageCheck({ nodes: named.length > 0 ? named : [process.execPath], linked, tsx, built, keep });
    console.log("the package works");
  });
}
