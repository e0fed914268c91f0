/**
 * The declarations of files, as an older TypeScript writes them: `node tools/older-declarations.mjs FOLDER FILE …` in a project.
 * Each file is a program of its own, as if the compiler were started for it. The programs share the files that they have read,
 * which takes most of the time.
 */
import { createRequire } from "node:module";
import { toolMain } from "./project.mjs";

/**
 * What is used of the compiler's API.
 * @typedef {{ getSourceFile: (name: string, ...how: unknown[]) => unknown }} Host
 * @typedef {{ emit(): { diagnostics: readonly unknown[] } }} Program
 * @typedef {object} Compiler
 * @property {(args: readonly string[]) => { options: object, fileNames: string[] }} parseCommandLine
 * @property {(options: object) => Host} createCompilerHost
 * @property {(files: readonly string[], options: object, host: Host) => Program} createProgram
 * @property {(program: Program) => readonly unknown[]} getPreEmitDiagnostics
 * @property {(diagnostics: readonly unknown[], host: object) => string} formatDiagnostics
 */

const require = createRequire(import.meta.url);

/** @type {Compiler} */
const ts = createRequire(require.resolve("@arethetypeswrong/core"))("typescript");

await toolMain(async () => {
  const { options, fileNames } = ts.parseCommandLine(process.argv.slice(2));
  const host = ts.createCompilerHost(options);
  const { getSourceFile } = host;
  /** @type {Map<string, unknown>} */
  const read = new Map();
  host.getSourceFile = (name, ...how) => {
    const known = read.get(name) ?? getSourceFile(name, ...how);
    read.set(name, known);
    return known;
  };
  for (const file of fileNames) {
    const program = ts.createProgram([file], options, host);
    const wrong = [...ts.getPreEmitDiagnostics(program), ...program.emit().diagnostics];
    if (wrong.length > 0) throw new Error(ts.formatDiagnostics(wrong, host));
  }
});
