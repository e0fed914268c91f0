/**
 * What the build adds to the bundled files: compressed copies, so that the console's server never compresses by itself,
 * and the licences of the libraries that are in the bundle. Both follow from what was bundled, so that neither can be
 * forgotten when a library is added.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import type { Plugin } from "vite";

export const NOTICES = "THIRD-PARTY-NOTICES.txt";
const COMPRESSED = /\.(?:js|css|html|svg)$/;
/** Below this a compressed copy saves less than its headers cost. */
const BYTES_MIN = 1_024;

/** Writes `file.gz` and `file.br` beside every text file that they make smaller. */
export function compressedCopies(): Plugin {
  return {
    name: "amends:compressed-copies",
    writeBundle({ dir = "" }, bundle) {
      for (const name of Object.keys(bundle).filter((file) => COMPRESSED.test(file))) {
        const file = path.join(dir, name);
        const bytes = readFileSync(file);
        if (bytes.length < BYTES_MIN) continue;
        const params = {
          [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
          [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
        };
        writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
        writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params }));
      }
    },
  };
}

/** One text with the name, the version and the licence of every package in the bundle. */
export function licenceNotices(): Plugin {
  return {
    name: "amends:licence-notices",
    generateBundle(_options, bundle) {
      const modules = Object.values(bundle).flatMap((file) => (file.type === "chunk" ? file.moduleIds : []));
      const folders = withDependencies(modules.flatMap((id) => packageFolder(id) ?? []));
      const source = `${["The console contains the following libraries.", ...folders.map(noticeOf)].join(`\n\n${"-".repeat(80)}\n\n`)}\n`;
      this.emitFile({ type: "asset", fileName: NOTICES, source });
    },
  };
}

/** `…/node_modules/@scope/name` of a module of a package; undefined for the console's own. */
function packageFolder(id: string): string | undefined {
  return /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(id.replace(/^\0/, ""))?.[0];
}

/** A package may have its dependencies inside its own file: their licences count as well. */
function withDependencies(folders: readonly string[]): readonly string[] {
  const found = new Set(folders);
  for (const folder of found) {
    for (const name of Object.keys(manifestOf(folder).dependencies ?? {})) {
      const places = [path.join(folder, "node_modules"), folder.replace(/([\\/]node_modules[\\/]).*$/, "$1")];
      const place = places.map((one) => path.join(one, name)).find((one) => existsSync(one));
      if (place !== undefined) found.add(place);
    }
  }
  return [...found].toSorted((a, b) => (a < b ? -1 : 1));
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8")) as Manifest;
}

function noticeOf(folder: string): string {
  const manifest = manifestOf(folder);
  const file = readdirSync(folder).find((name) => /^(?:licen[cs]e|copying)(?:\.\w+)?$/i.test(name));
  if (file === undefined) throw new Error(`${manifest.name} is in the bundle and has no licence file.`);
  const text = readFileSync(path.join(folder, file), "utf8").trim().replaceAll("\r\n", "\n");
  return `${manifest.name} ${manifest.version} (${manifest.license ?? "see below"})\n\n${text}`;
}
