/**
 * Finds and loads the user's `amends.config.*`. `tsx` loads TypeScript if the project has it, because its author most
 * likely runs everything with it; otherwise Node.js itself does, from 22.18 on. If neither can, the error says what to
 * install (ADR 0012).
 */
import { execFile } from "node:child_process";
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { AmendsError } from "../../core/errors.ts";
import type { AmendsConfig } from "./config.ts";
import { Trouble, UsageError } from "../program/failure.ts";
import { shortened } from "../terminal/stack.ts";
import { mixesModules, noModule } from "./mixed-modules.ts";
import { ownFolder } from "../program/version.ts";

export const CONFIG_NAMES: readonly string[] = ["ts", "mts", "js", "mjs"].map(
  (end) => `amends.config.${end}`,
);

export interface LoadedConfig {
  readonly file: string;
  readonly config: AmendsConfig;
}

/** The config file of this folder, or the one that was named; undefined where there is none. */
export function findConfig(cwd: string, given: string | undefined): string | undefined {
  if (given !== undefined) {
    const file = resolve(cwd, given);
    if (existsSync(file)) return file;
    throw new UsageError(`There is no file ${given}.`);
  }
  return CONFIG_NAMES.map((name) => join(cwd, name)).find((file) => existsSync(file));
}

/** A config may ask somewhere for its secrets first. Longer than this, it waits for something that never comes. */
const PATIENCE_MS = 30_000;

export async function loadConfig(
  file: string,
  cwd: string,
  patienceMs: number = PATIENCE_MS,
): Promise<LoadedConfig> {
  const shown = isAbsolute(relative(cwd, file)) ? file : relative(cwd, file);
  refuseOtherCopy(file, shown);
  if (/\.[cm]?ts$/.test(file)) await readTypeScript(file, shown);
  const module = await importFile(file, shown, patienceMs);
  const given = "default" in module ? module["default"] : module["config"];
  if (typeof given !== "object" || given === null) {
    throw new Trouble(
      "CONFIG_EMPTY",
      `${shown} exports no config.`,
      "Write: export default defineConfig({ … }), with defineConfig from amends/config",
    );
  }
  return { file, config: given };
}

async function importFile(
  file: string,
  shown: string,
  patienceMs: number,
): Promise<Readonly<Record<string, unknown>>> {
  const done = aside();
  try {
    const loading = import(pathToFileURL(file).href) as Promise<Record<string, unknown>>;
    return await inTime(loading, shown, patienceMs);
  } catch (error) {
    if (error instanceof Trouble) throw error;
    if (error instanceof AmendsError)
      throw new Trouble(error.code, `${shown}: ${error.message}`, undefined, { cause: error });
    const { message = String(error), stack = "" } = (error ?? {}) as { message?: string; stack?: string };
    const folder = dirname(file);
    if (mixesModules(message, file)) throw noModule(shown, error);
    const place =
      placeIn(stack, folder) ?? (error instanceof SyntaxError ? await placeOfSyntax(file) : undefined);
    throw new Trouble(
      "CONFIG_BROKEN",
      `${shown} cannot be loaded: ${shortened(message).replaceAll(/\s*\n\s*/g, " ")}${place === undefined ? "" : ` (${place})`}`,
      adviceOn(message),
      { cause: error },
    );
  } finally {
    done();
  }
}

/** What a config prints while it is loaded is not the command's answer, which a script may read. */
function aside(): () => void {
  const { stdout, stderr } = process;
  const own = Object.getOwnPropertyDescriptor(stdout, "write");
  stdout.write = stderr.write.bind(stderr);
  return () => {
    if (own) Object.defineProperty(stdout, "write", own);
    else Reflect.deleteProperty(stdout, "write"); // it is the stream's own again
  };
}

/** Without the timer, a process that has nothing else to wait for would end here without a word. */
async function inTime<T>(loading: Promise<T>, shown: string, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      const why = `${shown} is still being loaded after ${Math.round(ms / 1000)} s.`;
      reject(new Trouble("CONFIG_STUCK", why, "Look for an `await` at its top level that never ends."));
    }, ms);
  });
  try {
    return await Promise.race([loading, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * The position of a syntax error is in the first line of the stack; that of any other error is the first of the user's
 * files in the stack.
 */
function placeIn(stack: string, folder: string): string | undefined {
  const found = [...stack.matchAll(/(?:file:\/\/)?(\/[^\s()]+?|[A-Z]:[\\/][^\s()]+?):(\d+)/g)]
    .map(([, file = "", line = ""]) => ({ file, line }))
    .find(({ file }) => file.startsWith(folder) && !file.includes("node_modules"));
  return found && `${relative(folder, found.file)}:${found.line}`;
}

/**
 * Node.js reports the position of a syntax error only when it runs the file itself. That is safe: if one file cannot be
 * parsed, none is run.
 */
async function placeOfSyntax(file: string): Promise<string | undefined> {
  const stderr = await new Promise<string>((done) => {
    execFile(process.execPath, [file], { timeout: 5_000 }, (_error, _stdout, text) => done(text));
  });
  return placeIn(stderr, dirname(file));
}

function adviceOn(message: string): string | undefined {
  const missing = /Cannot find package '([^']+)'/.exec(message)?.[1];
  if (missing !== undefined) return `npm install ${missing}`;
  if (/is not supported in strip-only mode/.test(message))
    return "Node.js only strips types. For enums, namespaces and decorators: npm install -D tsx";
  if (/Cannot find module '.*\.js'/.test(message))
    return "If it is a TypeScript file, import it by its own name (./file.ts), or: npm install -D tsx";
  return undefined;
}

async function readTypeScript(file: string, shown: string): Promise<void> {
  const tsx = tsxOf(file);
  if (tsx !== undefined) {
    const api = (await import(pathToFileURL(tsx).href)) as { register(): unknown };
    api.register();
    return;
  }
  if (stripsTypes()) return;
  throw new Trouble(
    "TYPESCRIPT_UNREADABLE",
    `Node.js ${process.versions.node} cannot read ${shown}: it is TypeScript.`,
    "Use Node.js 22.18 or newer; or: npm install -D tsx; or compile it, and give what comes out with --config",
  );
}

/** Where the project's `tsx` is to be imported from; `require` would find its other half, which cannot be imported. */
export function tsxOf(file: string): string | undefined {
  const manifest = resolveFrom(file, "tsx/package.json");
  if (manifest === undefined) return undefined;
  const { exports = {} } = JSON.parse(readFileSync(manifest, "utf8")) as TsxManifest;
  const entry = exports["./esm/api"]?.import;
  const name = typeof entry === "string" ? entry : entry?.default;
  return name === undefined ? undefined : join(dirname(manifest), name);
}

interface TsxManifest {
  readonly exports?: Readonly<
    Record<string, { readonly import?: string | { readonly default?: string } } | undefined>
  >;
}

/** Whether this Node.js reads TypeScript by itself. */
export function stripsTypes(): boolean {
  const { typescript } = process.features as { readonly typescript?: unknown };
  return typeof typescript === "string";
}

export function resolveFrom(file: string, specifier: string): string | undefined {
  try {
    return createRequire(pathToFileURL(file)).resolve(specifier);
  } catch {
    return undefined;
  }
}

/** Two copies of the package in one process would not know one another's errors and definitions. */
function refuseOtherCopy(file: string, shown: string): void {
  const manifest = resolveFrom(file, "amends/package.json");
  if (manifest === undefined || realpathSync(dirname(manifest)) === realpathSync(ownFolder())) return;
  throw new Trouble(
    "OTHER_COPY",
    `${shown} uses another copy of the amends package than this command.`,
    "Run the project's own: npx amends …",
  );
}
