/**
 * The built pages. All of them are listed and read once: a path in a request is looked up and never put together to a
 * path on the disk. Files whose name has a hash in it never change; the page itself is asked for every time. The build
 * writes compressed copies beside the files: a browser gets the smallest one that it accepts. Behind a framework's fetch
 * interface it gets the file as it is, because a framework may compress by itself, or drop Content-Encoding as Next.js does.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { answer } from "./answer.ts";

/** From this folder: beside the built code, or in the output folder of the build if the sources run. */
const PLACES = ["../../console-assets", "../../../dist/console-assets", "../../../../dist/console-assets"];

const MISSING =
  "The files of the console (amends/dist/console-assets) are missing beside the code: a bundler or file tracing left them out. " +
  "Set `assets`, or see docs/guides/console.md, Next.js. In a checkout of Amends, run `npm run build`. The API under ./api/ works without them.\n";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
  ".json": "application/json; charset=utf-8",
  ".webmanifest": "application/manifest+json",
  ".txt": "text/plain; charset=utf-8",
};

const HASHED = /^\/assets\/.+-[\w-]{8,}\.\w+$/;
const FOR_EVER = "public, max-age=31536000, immutable";

type Bytes = Uint8Array<ArrayBuffer>;

interface Asset {
  readonly bytes: Bytes;
  readonly headers: Readonly<Record<string, string>>;
  /** By the name of the encoding, the smallest first. */
  readonly copies: ReadonlyMap<string, Bytes>;
}

const ENCODINGS = { br: ".br", gzip: ".gz" } as const;

export class Assets {
  readonly #folder: string | undefined;
  #files: ReadonlyMap<string, Asset> | undefined;

  constructor(folder: string | undefined) {
    this.#folder = folder ?? builtPages();
  }

  /** Undefined where there is no such file. `accepts` is the request's Accept-Encoding; null for a copy as it is. */
  serve(path: string, accepts: string | null): Response | undefined {
    this.#files ??= this.#folder === undefined ? new Map<string, Asset>() : readFolder(this.#folder);
    const asset = this.#files.get(path === "/" ? "/index.html" : path);
    if (asset) return send(asset, accepts ?? "");
    if (path !== "/") return undefined;
    return answer(MISSING, 404, { "content-type": "text/plain; charset=utf-8" });
  }
}

/** Bundlers resolve `new URL(…, import.meta.url)` when they build and fail if they cannot: a path is found at run time. */
function builtPages(): string | undefined {
  const here = dirname(fileURLToPath(import.meta.url));
  return PLACES.map((place) => join(here, place)).find((one) => existsSync(one));
}

function send({ bytes, headers, copies }: Asset, accepts: string): Response {
  if (copies.size === 0) return answer(bytes, 200, headers);
  const varied = { ...headers, vary: "accept-encoding" };
  const [best] = [...copies].filter(([name]) => isAccepted(name, accepts));
  if (!best) return answer(bytes, 200, varied);
  const [encoding, copy] = best;
  return answer(copy, 200, { ...varied, "content-encoding": encoding });
}

/** `gzip, br;q=0.5, *;q=0`: an encoding is accepted unless its weight is 0. */
function isAccepted(encoding: string, accepts: string): boolean {
  const weights = new Map(
    accepts.split(",").map((part) => {
      const [name = "", ...params] = part.split(";").map((text) => text.trim().toLowerCase());
      const weight = params.find((param) => param.startsWith("q="));
      return [name, weight === undefined ? 1 : Number(weight.slice(2))] as const;
    }),
  );
  return (weights.get(encoding) ?? weights.get("*") ?? 0) > 0;
}

function readFolder(folder: string): ReadonlyMap<string, Asset> {
  const files = new Map<string, Asset>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const type = TYPES[extname(entry.name)];
    if (!entry.isFile() || type === undefined) continue;
    const file = join(entry.parentPath, entry.name);
    const path = file.slice(folder.replace(/[\\/]+$/, "").length).replaceAll("\\", "/");
    const caching = HASHED.test(path) ? { "cache-control": FOR_EVER } : {};
    const copies = Object.entries(ENCODINGS)
      .filter(([, extension]) => existsSync(`${file}${extension}`))
      .map(([encoding, extension]) => [encoding, bytesOf(`${file}${extension}`)] as const);
    files.set(path, {
      bytes: bytesOf(file),
      headers: { "content-type": type, ...caching },
      copies: new Map(copies),
    });
  }
  return files;
}

function bytesOf(file: string): Bytes {
  return new Uint8Array(readFileSync(file));
}
