/** The stored part of a response, for operators: a few headers and the beginning of the body. */
import type { Answer } from "./exchange.ts";

/** What is stored of the response to an attempt. */
export interface SendResponse {
  /** Some headers, by their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** At most 16 KiB, as text. Empty if it is compressed: an untrusted body is never decompressed. */
  readonly body: string;
  /** True if the body was, or may have been, longer. */
  readonly truncated: boolean;
}

const KEPT: readonly string[] = [
  "content-type",
  "content-length",
  "content-encoding",
  "date",
  "location",
  "retry-after",
  "server",
  "x-request-id",
];
const VALUE_MAX = 256;

export function describeAnswer({ headers, body, truncated }: Answer): SendResponse {
  const kept: Record<string, string> = {};
  for (const name of KEPT) {
    const value = first(headers[name]);
    if (value !== undefined) kept[name] = value.slice(0, VALUE_MAX);
  }
  const isPlain = (first(headers["content-encoding"]) ?? "identity") === "identity";
  return {
    headers: kept,
    body: isPlain ? storable(body.toString("utf8")) : "",
    truncated,
  };
}

/** The first of a header that may have come several times. */
export function first(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === "string" ? value : value?.[0];
}

/** PostgreSQL cannot hold a NUL character in a text. */
function storable(text: string): string {
  return text.replaceAll("\0", "\uFFFD");
}
