/**
 * `amends init`: a first saga in an existing project, or in an empty folder. It adds files and never overwrites one: it
 * reports each file that already exists.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { command, flag, text, type Command } from "../program/command.ts";
import { Trouble } from "../program/failure.ts";
import { FIRST_SAGA, filesFor, TSCONFIG, type NewFile, type Project } from "../config/init-files.ts";
import { ink, paint } from "../terminal/ink.ts";
import { CONFIG_NAMES, resolveFrom, stripsTypes, tsxOf } from "../config/load-config.ts";
import { JSON_OUT } from "../program/shared-options.ts";

interface Manifest {
  readonly type?: string;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

const SCRIPT = "amends";

export const init: Command = command({
  name: "init",
  group: "Set up",
  summary: "Create amends.config.* with an example saga. Overwrites nothing.",
  options: {
    language: text("NAME", "Default: the language of the project.", ["ts", "js"]),
    "dry-run": flag("Print what would be written, and write nothing."),
    ...JSON_OUT,
  },
  examples: [
    ["npm install amends && npx amends init", "in a new folder, or in a project"],
    ["amends init --language js", "without TypeScript"],
  ],
  run: async ({ options, output, world }) => {
    const { cwd } = world;
    const manifest = readManifest(cwd);
    const project = detect(cwd, manifest, options.language);
    const known = CONFIG_NAMES.find((name) => existsSync(join(cwd, name)));
    const files = [...filesFor(project), ...beside(cwd, manifest, project)].filter(
      ({ name }) => known === undefined || !name.startsWith("amends.config."),
    );
    const [kept, fresh] = [
      files.filter(({ name }) => existsSync(join(cwd, name))),
      files.filter(({ name }) => !existsSync(join(cwd, name))),
    ];
    const script = manifest && manifest.scripts?.[SCRIPT] === undefined;
    if (!options["dry-run"]) {
      for (const file of fresh) write(cwd, file);
      if (script) addScript(cwd);
    }
    const steps = nextSteps(cwd, project);
    output.document({
      dryRun: options["dry-run"],
      written: fresh.map(({ name }) => name),
      kept: [...kept.map(({ name }) => name), ...(known === undefined ? [] : [known])],
      script: script === true,
      next: steps,
    });
    const [wrote, added, keeps] = options["dry-run"]
      ? ["would write", "would add", "would keep"]
      : ["written", "added", "kept"];
    const label = (word: string): string => word.padEnd(wrote.length + 2);
    for (const { name } of fresh) output.say(ink`${paint("green", label(wrote))}${name}`);
    if (script) output.say(ink`${paint("green", label(added))}the script "${SCRIPT}" to package.json`);
    for (const name of [...kept.map((file) => file.name), ...(known === undefined ? [] : [known])])
      output.say(ink`${paint("dim", label(keeps))}${name}, unchanged`);
    output.say();
    output.say(paint("bold", "Next:"));
    const width = Math.max(...steps.map(([line]) => line.length));
    for (const [line, what] of steps)
      output.say(ink`  ${paint("cyan", line.padEnd(width))}  ${paint("dim", what)}`);
    return 0;
  },
});

function readManifest(cwd: string): Manifest | undefined {
  const file = join(cwd, "package.json");
  if (!existsSync(file)) return undefined;
  const manifest = parsed(readFileSync(file, "utf8"));
  if (!isRecord(manifest) || !isRecord(manifest["scripts"] ?? {})) {
    const why = "package.json cannot be read: it must be a JSON object, and so must its scripts.";
    throw new Trouble("PACKAGE_BROKEN", why, "Fix it first.");
  }
  return manifest;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A folder with a tsconfig, with typescript or with TypeScript files is a TypeScript project; an empty one becomes what this Node.js can read. */
function detect(cwd: string, manifest: Manifest | undefined, wanted: string | undefined): Project {
  const packages = { ...manifest?.dependencies, ...manifest?.devDependencies };
  const here = readdirSync(cwd);
  const isTyped =
    here.includes("tsconfig.json") ||
    "typescript" in packages ||
    here.some((name) => /\.[cm]?ts$/.test(name));
  const isNew = !manifest || Object.keys(manifest.scripts ?? {}).length === 0;
  const isJs = here.some((name) => /\.[cm]?js$/.test(name));
  const language =
    wanted === "ts" || wanted === "js" ? wanted : isTyped || (isNew && !isJs && stripsTypes()) ? "ts" : "js";
  const isModule = manifest === undefined || manifest.type === "module";
  const schemaLibrary =
    "zod" in packages && resolveFrom(join(cwd, "package.json"), "zod") !== undefined ? "zod" : undefined;
  return { language, extension: isModule ? language : `m${language}`, schemaLibrary };
}

/** What an empty folder lacks. */
function beside(cwd: string, manifest: Manifest | undefined, { language }: Project): readonly NewFile[] {
  const files: NewFile[] = [];
  if (!manifest) {
    const fresh = {
      name: packageName(cwd),
      private: true,
      type: "module",
      scripts: { [SCRIPT]: "amends dev" },
    };
    files.push({ name: "package.json", text: `${JSON.stringify(fresh, null, 2)}\n` });
  }
  const isAlone =
    !manifest ||
    (Object.keys(manifest.scripts ?? {}).length === 0 && !existsSync(join(cwd, "tsconfig.json")));
  if (language === "ts" && isAlone) files.push({ name: "tsconfig.json", text: TSCONFIG });
  return files.filter(({ name }) => name !== "tsconfig.json" || !existsSync(join(cwd, name)));
}

function packageName(cwd: string): string {
  return (
    basename(cwd)
      .toLowerCase()
      .replaceAll(/[^a-z0-9-]+/g, "-")
      .replaceAll(/^-+|-+$/g, "") || "app"
  );
}

/** `wx`: a file that appears in this very moment is not overwritten either. */
function write(cwd: string, { name, text: content }: NewFile): void {
  const file = join(cwd, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content, { flag: "wx" });
}

/** One line more; everything else stays as it was written, indentation included. */
function addScript(cwd: string): void {
  const file = join(cwd, "package.json");
  const before = readFileSync(file, "utf8");
  const indent = /^([ \t]+)"/m.exec(before)?.[1] ?? "  ";
  const manifest = JSON.parse(before) as Record<string, unknown> & Manifest;
  const after = { ...manifest, scripts: { ...manifest.scripts, [SCRIPT]: "amends dev" } };
  writeFileSync(file, `${JSON.stringify(after, null, indent)}${before.endsWith("\n") ? "\n" : ""}`);
}

function nextSteps(
  cwd: string,
  { language, extension }: Project,
): readonly (readonly [line: string, what: string])[] {
  const file = join(cwd, `amends.config.${extension}`);
  const needsReader = language === "ts" && !stripsTypes() && tsxOf(file) === undefined;
  return [
    ...(resolveFrom(file, "amends/package.json") === undefined
      ? ([["npm install amends", "the library itself"]] as const)
      : []),
    ...(needsReader ? ([["npm install -D tsx", "so that this Node.js reads TypeScript"]] as const) : []),
    ["npx amends dev", "runs worker and console; restarts when you save"],
    [`npx amends start ${FIRST_SAGA} '{"name":"Ann","cents":250}'`, "in another terminal"],
    [`npx amends start ${FIRST_SAGA} '{"name":"Ben","cents":25000}'`, "is declined, and undone"],
    ["npx amends list", "what became of them"],
    [`amends.config.${extension}`, "is yours to change"],
  ];
}
