/**
 * The URL of a request. A ref's value stays within its own path segment: it is URL-encoded, and a value that would
 * change the path (an empty text, or `..`, which could delete all people instead of one) is a permanent error. No
 * error contains the ref.
 */
import { AmendsError } from "../core/errors.ts";
import type { SubjectRef } from "../core/outbox/entry.ts";
import { ResolverError } from "../erasure/remote/resolver.ts";

/**
 * The address of a request: a template such as `https://api.example.com/people/{value}`, or a function of the ref. The
 * placeholders are `{value}`, `{kind}` and `{extra.name}`; their values are URL-encoded.
 */
export type HttpAddress = string | ((ref: SubjectRef) => string | URL);

const PLACEHOLDER = /\{([^{}]*)\}/g;

export function addressOf(address: HttpAddress, where: string): (ref: SubjectRef) => URL {
  if (typeof address === "function") return (ref) => checkedUrl(address(ref));
  checkTemplate(address, where);
  return (ref) => checkedUrl(address.replace(PLACEHOLDER, (_, field: string) => encoded(ref, field)));
}

/** The parts that do not depend on the ref are checked when the resolver is made. */
function checkTemplate(template: unknown, where: string): void {
  const refuse = (why: string): never => {
    throw new AmendsError("BAD_OPTION", `${where}: the url ${why}.`);
  };
  if (typeof template !== "string") return refuse("must be a text or a function of the ref");
  for (const [, field = ""] of template.matchAll(PLACEHOLDER)) {
    if (!/^(?:value|kind|extra\..+)$/.test(field)) {
      return refuse(`knows {value}, {kind} and {extra.name}, not {${field}}`);
    }
  }
  const origin = /^https?:\/\/[^/?#\\]*/i.exec(template)?.[0];
  if (!origin) return refuse("must begin with https:// or http://");
  if (/[{}@]/.test(origin)) return refuse("must name its host itself, without credentials (use headers)");
  if (!urlOf(template.replace(PLACEHOLDER, "x")))
    return refuse("is not an address, or has dots for a folder");
}

function encoded(ref: SubjectRef, field: string): string {
  const value =
    field === "value" ? ref.value : field === "kind" ? ref.kind : ref.extra?.[field.slice("extra.".length)];
  try {
    if (typeof value === "string" && value !== "") return encodeURIComponent(value);
  } catch {
    // A lone surrogate cannot be URL-encoded.
  }
  throw new ResolverError("http-bad-ref", "The ref has no usable text for a placeholder of the address.");
}

function checkedUrl(address: string | URL): URL {
  const url = urlOf(String(address));
  if (url) return url;
  throw new ResolverError(
    "http-bad-address",
    "The ref does not make an http address without credentials and without dots for a folder.",
  );
}

/** The URL, unless parsing normalizes it to another path. */
function urlOf(text: string): URL | undefined {
  const path = text.replace(/[?#].*$/s, "").replaceAll("\\", "/");
  if (path.split("/").some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment))) return undefined;
  try {
    const url = new URL(text);
    return /^https?:$/.test(url.protocol) && !url.username && !url.password ? url : undefined;
  } catch {
    return undefined;
  }
}
