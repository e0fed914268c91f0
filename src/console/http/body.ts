/**
 * Reads a JSON body within limits. Size, depth and the number of keys are checked on the text: a parser accepts nesting
 * that `JSON.stringify` cannot write. Names that reach into prototypes are refused.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { BYTES_MAX, DEPTH_MAX } from "../../core/json.ts";
import { badInput, Refused } from "./answer.ts";

const KEYS_MAX = 10_000;
const UNSAFE: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

export async function readBody(
  request: Request,
  limitMs: number = READ_MS,
): Promise<Readonly<Record<string, unknown>>> {
  const type = request.headers.get("content-type") ?? "";
  if (!/^application\/json\s*(?:;|$)/i.test(type)) {
    throw new Refused(415, { code: "NOT_JSON", message: "Send the body as application/json." });
  }
  const text = await readText(request, limitMs);
  const problem = measure(text);
  if (problem !== undefined) throw badInput("The body", problem);
  let value: unknown;
  try {
    value = JSON.parse(text, refuseUnsafe);
  } catch (error) {
    throw error instanceof Refused ? error : badInput("The body", "is not JSON");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw badInput("The body", "must be an object");
  }
  return value as Record<string, unknown>;
}

/** A stranger must not hold a request open: the body is read before a token in it is known. */
const READ_MS = 10_000;

async function readText(request: Request, limitMs: number): Promise<string> {
  const timer = new AbortController();
  const late = sleep(limitMs, undefined, { signal: timer.signal, ref: false });
  const reading = collect(request);
  // A body that ends after its limit is of no interest.
  reading.catch(() => undefined);
  try {
    const text = await Promise.race([reading, late]);
    if (text === undefined)
      throw new Refused(408, {
        code: "TOO_SLOW",
        message: `The body took longer than ${limitMs / 1_000} s.`,
      });
    return text;
  } finally {
    timer.abort();
    late.catch(() => undefined);
  }
}

async function collect(request: Request): Promise<string> {
  const tooLarge = new Refused(413, {
    code: "TOO_LARGE",
    message: `The body is too large. The limit is ${BYTES_MAX} bytes.`,
  });
  if (Number(request.headers.get("content-length") ?? 0) > BYTES_MAX) throw tooLarge;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (request.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > BYTES_MAX) throw tooLarge;
    chunks.push(chunk);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw badInput("The body", "is not UTF-8");
  }
}

/** What is wrong with the shape of a JSON text; undefined where nothing is. */
function measure(text: string): string | undefined {
  let depth = 0;
  let keys = 0;
  for (let i = 0; i < text.length; i++) {
    switch (text[i]) {
      case '"':
        for (i++; i < text.length && text[i] !== '"'; i++) if (text[i] === "\\") i++;
        break;
      case "{":
      case "[":
        if (++depth > DEPTH_MAX) return `is nested deeper than ${DEPTH_MAX} levels`;
        break;
      case "}":
      case "]":
        depth--;
        break;
      case ":":
        if (++keys > KEYS_MAX) return `has more than ${KEYS_MAX} keys`;
        break;
      default:
    }
  }
  return undefined;
}

function refuseUnsafe(key: string, value: unknown): unknown {
  if (UNSAFE.has(key)) throw badInput("The body", `has a key named ${key}, which is not allowed`);
  return value;
}
