/**
 * Stored values are JSON within limits, checked before anything is written: parsers accept deeper nesting than
 * writers, and a key named `__proto__` survives a copy.
 */
import { AmendsError, type ErrorCode } from "./errors.ts";

export const DEPTH_MAX = 64;
export const BYTES_MAX = 1_048_576;

/** A value that JSON can hold. A property that is undefined is left out. */
export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly [key: string]: Json | undefined };

/** What a value becomes when it is written as JSON and read back. */
export type Stored<T> = T extends string | number | boolean | null | undefined
  ? T
  : T extends { toJSON(): infer J }
    ? Stored<J>
    : T extends bigint | symbol | ((...args: never[]) => unknown)
      ? never
      : T extends readonly unknown[]
        ? { [K in keyof T]: Stored<T[K]> }
        : T extends object
          ? {
              [K in keyof T as T[K] extends symbol | ((...args: never[]) => unknown) ? never : K]: Stored<
                T[K]
              >;
            }
          : T;

interface Door {
  /** What the value is, for the message: "The input", "The result of step charge". */
  readonly field: string;
  readonly code?: ErrorCode;
  /** Refuses NUL in payloads that queries may read: jsonb cannot store it. */
  readonly allowNul?: boolean;
  /** The largest text. Default: 1 MiB. */
  readonly bytesMax?: number;
}

/** The value as JSON text, or null for undefined. Throws an AmendsError that says which field is wrong and why. */
export function encodeJson(value: unknown, door: Door): string | null {
  if (value === undefined) return null;
  const refuse = (why: string): never => {
    throw new AmendsError(door.code ?? "BAD_JSON", `${door.field} ${why}.`, { field: door.field });
  };
  const wrong = misshape(value);
  if (wrong !== undefined) return refuse(wrong);
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch {
    return refuse("cannot be written as JSON (a cycle, a bigint, or a toJSON that throws)");
  }
  if (text === undefined) return refuse("cannot be written as JSON (a function or a symbol)");
  const { bytesMax = BYTES_MAX } = door;
  // A UTF-16 code unit is one to three bytes of UTF-8: only texts in between need the exact count.
  if (text.length > bytesMax || (text.length * 3 > bytesMax && byteLength(text) > bytesMax)) {
    return refuse(`is larger than ${bytesMax} bytes of JSON`);
  }
  // JSON.stringify writes both of these as escapes, and nothing else that begins like them.
  if (!door.allowNul && text.includes("\\u") && /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/.test(text)) {
    return refuse("contains a NUL character or half of a surrogate pair");
  }
  return text;
}

function byteLength(text: string): number {
  let bytes = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code >= 0xd800 && code < 0xe000 ? 2 : 3;
  }
  return bytes;
}

const NODES_MAX = BYTES_MAX;

/** Why a value is too deep, too large or unsafe; undefined if it is valid. */
function misshape(root: unknown): string | undefined {
  if (typeof root === "number" && !Number.isFinite(root)) return "is NaN or Infinity, which JSON cannot hold";
  if (typeof root !== "object" || root === null) return undefined;
  let nodes: number;
  try {
    nodes = visit(root, 1, 0);
  } catch {
    return "cannot be read (a getter or a proxy that throws)";
  }
  if (nodes < 0) return REASONS[nodes];
  return nodes > NODES_MAX ? `is larger than ${BYTES_MAX} bytes of JSON (or contains itself)` : undefined;
}

const TOO_DEEP = -1;
const UNSAFE_KEY = -2;
const NOT_A_NUMBER = -3;
const NOT_PLAIN = -4;

const REASONS: Readonly<Record<number, string>> = {
  [TOO_DEEP]: `is nested deeper than ${DEPTH_MAX} levels (or contains itself)`,
  [UNSAFE_KEY]: "has a key named __proto__",
  [NOT_A_NUMBER]: "contains NaN or Infinity, which JSON cannot hold",
  [NOT_PLAIN]: "contains a Map, a Set or a Promise, which JSON cannot hold",
};

/** Counts the nodes. The depth bounds the recursion, the count bounds what a value that contains itself can cost. */
function visit(parent: object, depth: number, before: number): number {
  if (depth > DEPTH_MAX) return TOO_DEEP;
  if (parent instanceof Map || parent instanceof Set || parent instanceof Promise) return NOT_PLAIN;
  let nodes = before + 1;
  for (const key of Object.keys(parent)) {
    if (key === "__proto__") return UNSAFE_KEY;
    const child = (parent as Record<string, unknown>)[key];
    if (typeof child === "number" && !Number.isFinite(child)) return NOT_A_NUMBER;
    if (typeof child !== "object" || child === null) continue;
    nodes = visit(child, depth + 1, nodes);
    if (nodes < 0 || nodes > NODES_MAX) return nodes;
  }
  return nodes;
}

/** The same text for the same value, whatever the order of its keys: for comparing inputs. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, node: unknown) =>
    typeof node === "object" && node !== null && !Array.isArray(node)
      ? Object.fromEntries(Object.entries(node).toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
      : node,
  );
}
